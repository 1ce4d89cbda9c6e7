/** `polygate models`: lists the available models. */

import { pino } from 'pino';
import { loadConfig } from '../config/load.ts';
import { GatewayError } from '../core/errors.ts';
import type { CatalogModel } from '../core/model.ts';
import { createProviderRegistry, type ProviderRegistry } from '../gateway/provider-registry.ts';
import { protocolOf } from '../protocols/index.ts';
import { createUpstreamClient } from '../transport/upstream-client.ts';
import { type ConfigOptions, configSource } from './source.ts';
import { printJson, printTable } from './table.ts';
import { version } from './version.ts';

const HEADINGS = ['ID', 'CONTEXT', 'OUTPUT', 'READS', 'PROTOCOLS', 'NAME'];

export async function listModels(options: ConfigOptions & { provider?: string; json?: boolean }): Promise<void> {
  const { server, providers, routing } = loadConfig(configSource(options));
  const wanted = providers.filter(({ id }) => options.provider === undefined || options.provider === id);
  assertProviderReady(
    options.provider,
    wanted[0]?.state,
    providers.map(({ id }) => id),
  );

  const upstream = createUpstreamClient(server.deadlines);
  const log = pino({ level: 'silent' });
  const models = createProviderRegistry(wanted, { upstream, log, userAgent: `polygate/${version}`, routes: routing });
  await Promise.all([...models.providers.values()].map(({ discoverModels }) => discoverModels?.()));
  models.close();
  await upstream.close();

  for (const { id, problem } of models.states()) if (problem) process.stderr.write(`${id}: ${problem}\n`);
  const all = models.catalog().all();
  if (options.json) return printJson(all.map((model) => protocolOf('chat').encodeModel(model)));
  printTable(
    HEADINGS,
    all.map((model) => [
      model.id,
      String(model.contextLength),
      String(model.maxOutput),
      model.inputModalities.join(','),
      protocolsOf(models, model),
      model.name,
    ]),
  );
}

/** The protocols that its provider speaks for it; a dash for a model that only makes videos. */
function protocolsOf({ providers }: ProviderRegistry, model: CatalogModel): string {
  const spoken = providers.get(model.provider)?.provider.speaks(model) ?? [];
  return spoken.map(({ protocol }) => protocol).join(',') || '-';
}

function assertProviderReady(wanted: string | undefined, state: string | undefined, ids: string[]): void {
  if (wanted === undefined || state === 'ready') return;
  if (state === 'waiting')
    throw new GatewayError('not_found', `The provider "${wanted}" waits for its key; see polygate check.`);
  throw new GatewayError('not_found', `There is no provider "${wanted}"; there are: ${ids.join(', ')}.`);
}
