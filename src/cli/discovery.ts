/** Discovery of models for commands: asks every provider that is asked for its models, once. */

import { pino } from 'pino';
import { knownEntries } from '../catalog/updated.ts';
import type { Config, ProviderConfig } from '../config/resolved.ts';
import { version } from '../core/version.ts';
import { createProviderRegistry, type ProviderRegistry } from '../gateway/provider-registry.ts';
import { createUpstreamClient } from '../transport/upstream-client.ts';

/** A directory of the models known without a network; no request is sent with it. */
export async function configuredModels(config: Pick<Config, 'data' | 'server' | 'network' | 'routing' | 'providers'>) {
  const unasked = config.providers.map((one) =>
    one.state === 'ready' && !Array.isArray(one.models) ? { ...one, models: [] } : one,
  );
  return discoverModels(config, unasked);
}

/** Resolves within the timeout of a model list, also if providers fail; their states say so. */
export async function discoverModels(
  { data, server, network, routing, providers }: Pick<Config, 'data' | 'server' | 'network' | 'routing' | 'providers'>,
  wanted: readonly ProviderConfig[] = providers,
): Promise<ProviderRegistry> {
  const upstream = createUpstreamClient(server.deadlines, { proxy: network.proxy });
  const log = pino({ level: 'silent' });
  const models = createProviderRegistry(wanted, {
    upstream,
    log,
    userAgent: `polygate/${version}`,
    routes: routing,
    proxy: network.proxy,
    known: knownEntries(data),
  });
  await models.discovered();
  models.close();
  await upstream.close();
  return models;
}
