/** `polygate check`: validates and prints the resolved configuration. */

import { readCatalog, updatedCatalogPath } from '../catalog/updated.ts';
import { loadConfig } from '../config/load.ts';
import { describeConfig } from '../config/mask.ts';
import { isLoopback } from '../core/loopback.ts';
import { providerTypes } from '../providers/index.ts';
import { unknownModels } from '../routing/model-names.ts';
import { discoverModels } from './discovery.ts';
import { missingKeyWarning, readFirstKey } from './first-key.ts';
import { allKeys } from './keys.ts';
import { type ConfigOptions, configSource } from './source.ts';
import {
  baseWarnings,
  ownAddressWarnings,
  proxyWarning,
  unknownKeyWarnings,
  unknownModelWarning,
  waitingWarnings,
} from './start-warnings.ts';

export async function check(options: ConfigOptions): Promise<void> {
  const config = loadConfig(configSource(options));
  for (const provider of config.providers) {
    if (provider.state === 'ready')
      providerTypes.get(provider.type)?.create({ id: provider.id, baseUrl: provider.baseUrl });
  }
  const { problem: outdated } = readCatalog(config.data);
  if (outdated !== undefined)
    process.stderr.write(
      `Warning: ${updatedCatalogPath(config.data)} ${outdated}: the bundled facts about models count.\n`,
    );
  const proxy = proxyWarning(config);
  if (proxy !== undefined) process.stderr.write(`Warning: ${proxy}\n`);
  const models = await discoverModels(config);
  const states = models.states();
  for (const { id, problem } of states)
    if (problem !== undefined) process.stderr.write(`Warning: ${id} is not reached: ${problem}\n`);
  for (const warning of [...ownAddressWarnings(config), ...waitingWarnings(config)])
    process.stderr.write(`${warning}\n`);
  for (const unknown of unknownModels(models)) process.stderr.write(`${unknownModelWarning(unknown)}\n`);
  for (const warning of baseWarnings(config)) process.stderr.write(`${warning}\n`);
  process.stdout.write(`${describeConfig(config, new Map(states.map((state) => [state.id, state])))}\n`);
  // The store is opened only if its keys matter.
  const isLocal = isLoopback(config.server.host);
  if (isLocal && unknownKeyWarnings(config, config.keys).length === 0) return;
  const keys = await allKeys(config);
  for (const warning of unknownKeyWarnings(config, keys)) process.stderr.write(`${warning}\n`);
  if (isLocal) return;
  if (keys.length === 0 && readFirstKey(process.env) !== undefined) return;
  const warning = missingKeyWarning(config, keys);
  if (warning !== undefined) process.stderr.write(`${warning}\n`);
}
