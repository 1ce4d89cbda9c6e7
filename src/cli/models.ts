/** `polygate models`: lists the available models. */

import { loadConfig } from '../config/load.ts';
import { GatewayError } from '../core/errors.ts';
import type { CatalogModel } from '../core/model.ts';
import type { ProviderRegistry } from '../gateway/provider-registry.ts';
import { protocolOf } from '../protocols/index.ts';
import { writesAnswers } from '../routing/candidates.ts';
import { discoverModels } from './discovery.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';

const HEADINGS = ['ID', 'CONTEXT', 'OUTPUT', 'READS', 'WRITES', 'PROTOCOLS', 'NAME'];

export async function listModels(options: ConfigOptions & { provider?: string; json?: boolean }): Promise<void> {
  const config = loadConfig(configSource(options));
  const { providers } = config;
  const wanted = providers.filter(({ id }) => options.provider === undefined || options.provider === id);
  assertProviderReady(
    options.provider,
    wanted[0]?.state,
    providers.map(({ id }) => id),
  );

  const models = await discoverModels(config, wanted);
  for (const { id, problem } of models.states()) {
    if (problem === undefined) continue;
    process.stderr.write(`Warning: ${id} is not reached: ${problem}\n`);
    process.exitCode = 1;
  }
  const all = models.catalog().all();
  if (options.json) return printJson(all.map((model) => protocolOf('chat').encodeModel(model)));
  printTable(
    HEADINGS,
    all.map((model) => [
      model.id,
      String(model.contextLength),
      String(model.maxOutput),
      model.inputModalities.join(','),
      model.outputModalities.join(','),
      protocolsOf(models, model),
      model.name,
    ]),
  );
}

/** The protocols that its provider speaks in conversations with it; a dash for a model that has none. */
function protocolsOf({ providers }: ProviderRegistry, model: CatalogModel): string {
  if (!writesAnswers(model)) return '-';
  const spoken = providers.get(model.provider)?.provider.speaks(model) ?? [];
  return spoken.map(({ protocol }) => protocol).join(',') || '-';
}

function assertProviderReady(wanted: string | undefined, state: string | undefined, ids: string[]): void {
  if (wanted === undefined || state === 'ready') return;
  if (state === 'waiting')
    throw new GatewayError('not_found', `The provider "${wanted}" waits for its key; see polygate check.`);
  throw new GatewayError('not_found', `There is no provider "${wanted}"; there are: ${ids.join(', ')}.`);
}
