/** Configuration source of the commands. */

import { type ConfigSource, findConfig } from '../config/load.ts';
import { providerTypes } from '../providers/index.ts';

export interface ConfigOptions {
  config?: string;
}

export function configSource({ config }: ConfigOptions): ConfigSource {
  return { ...findConfig(config), environment: process.env, known: providerTypes };
}
