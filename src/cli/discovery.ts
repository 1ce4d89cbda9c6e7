/** Providers for commands: opened from the configuration, and asked for their models once. */

import { pino } from 'pino';
import { knownEntries } from '../catalog/updated.ts';
import type { Config, ProviderConfig } from '../config/resolved.ts';
import { version } from '../core/version.ts';
import { createProviderRegistry, type ProviderRegistry } from '../gateway/provider-registry.ts';
import { createUpstreamClient, type UpstreamClient } from '../transport/upstream-client.ts';

type ProviderSettings = Pick<Config, 'data' | 'server' | 'network' | 'routing' | 'providers'>;

export interface OpenProviders {
  models: ProviderRegistry;
  upstream: UpstreamClient;
  close(): Promise<void>;
}

export function openProviders(
  { data, server, network, routing, providers }: ProviderSettings,
  wanted: readonly ProviderConfig[] = providers,
): OpenProviders {
  const { proxy } = network;
  const upstream = createUpstreamClient(server.deadlines, { proxy });
  const models = createProviderRegistry(wanted, {
    upstream,
    log: pino({ level: 'silent' }),
    userAgent: `polygate/${version}`,
    routes: routing,
    proxy,
    known: knownEntries(data),
  });
  return {
    models,
    upstream,
    close() {
      models.close();
      return upstream.close();
    },
  };
}

/** A directory of the models known without a network; no request is sent with it. */
export function offlineModels(config: ProviderSettings): Promise<ProviderRegistry> {
  const unasked = config.providers.map((one) =>
    one.state === 'ready' && !Array.isArray(one.models) ? { ...one, models: [] } : one,
  );
  return discoverModels(config, unasked);
}

/** Resolves within the timeout of a model list, also if providers fail; their states say so. */
export async function discoverModels(
  config: ProviderSettings,
  wanted?: readonly ProviderConfig[],
): Promise<ProviderRegistry> {
  const { models, close } = openProviders(config, wanted);
  await models.discovered();
  await close();
  return models;
}
