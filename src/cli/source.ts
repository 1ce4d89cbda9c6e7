/** Configuration source of the commands. */

import type { ConfigSource } from '../config/load.ts';
import { findConfig } from '../config/location.ts';
import { providerTypes } from '../providers/index.ts';

export interface ConfigOptions {
  config?: string;
}

export function configSource({ config }: ConfigOptions): ConfigSource {
  return { ...findConfig(config), environment: process.env, known: providerTypes };
}
