/** `polygate check`: what the gateway would run with. */

import { loadConfig } from '../config/load.ts';
import { describe } from '../config/mask.ts';
import { providerTypes } from '../providers/index.ts';
import { refuseExposure } from './exposure.ts';
import { openKeys } from './keys.ts';
import { type ConfigOptions, configSource } from './source.ts';

export function check(options: ConfigOptions): void {
  const config = loadConfig(configSource(options));
  for (const provider of config.providers) {
    if (provider.state === 'ready')
      providerTypes.get(provider.type)?.create({ id: provider.id, baseUrl: provider.baseUrl });
  }
  refuseExposure(config, openKeys(config));
  process.stdout.write(`${describe(config)}\n`);
}
