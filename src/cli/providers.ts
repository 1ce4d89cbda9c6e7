/** `polygate providers`: lists the providers, whether they are ready, and the variables that the others wait for. */

import { loadConfig } from '../config/load.ts';
import type { ProviderState } from '../gateway/provider-registry.ts';
import { discoverModels } from './discovery.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

const HEADINGS = ['ID', 'STATE', 'MODELS', ''];
const ORDER: ProviderState['state'][] = ['ready', 'unreachable', 'waiting'];

export async function listProviders(options: ConfigOptions & { json?: boolean }): Promise<void> {
  const states = (await discoverModels(loadConfig(configSource(options)))).states();
  const sorted = states.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  if (options.json) return printJson(sorted.map(({ waitingFor, ...state }) => ({ ...state, waiting_for: waitingFor })));
  printTable(
    HEADINGS,
    sorted.map(({ id, state, models, problem, waitingFor = [] }) => [
      id,
      state,
      state === 'waiting' ? '' : String(models),
      problem ?? (waitingFor.length > 0 ? `set ${waitingFor.join(' or ')}` : ''),
    ]),
  );
}
