/** Configuration source of the commands. */

import { CONFIG_VARIABLE } from '../config/environment.ts';
import type { ConfigSource } from '../config/load.ts';
import { type ConfigLocation, findConfig } from '../config/location.ts';
import { providerTypes } from '../providers/index.ts';

export interface ConfigOptions {
  config?: string;
}

export function configSource({ config }: ConfigOptions): ConfigSource {
  return { ...findConfig(config), environment: process.env, known: providerTypes };
}

/** Options by which a command that this one starts reads the same configuration; it has the same environment. */
export function configArguments({ file, text }: ConfigLocation): string[] {
  const named = file ?? (text === process.env[CONFIG_VARIABLE] ? undefined : text);
  return named === undefined ? [] : ['--config', named];
}
