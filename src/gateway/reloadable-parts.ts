/** Parts of a gateway that a reload replaces, and the settings of which a change needs a restart. */

import { knownEntries } from '../catalog/updated.ts';
import type { Config } from '../config/resolved.ts';
import type { Clock } from '../core/clock.ts';
import { Secret } from '../security/secret.ts';
import type { DeadlineTimer } from '../transport/deadlines.ts';
import { createUpstreamClient, type UpstreamClient } from '../transport/upstream-client.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { createProviderRegistry, type ProviderRegistry } from './provider-registry.ts';

export interface ReloadableParts {
  config: Config;
  models: ProviderRegistry;
  upstream: UpstreamClient;
  /** Reason for which the file that was last read is not in use; absent if it is. */
  refusal?: string;
}

interface ReloadablePartsOptions extends Pick<GatewayOptions, 'config' | 'log' | 'providerTypes'> {
  userAgent: string;
  clock: Clock;
  timer: DeadlineTimer;
}

export interface PartsInUse {
  readonly now: ReloadableParts;
  /** Returns the settings that differ from those at the start and need a restart. */
  replace(next: Config): string[];
  refuse(reason: string): void;
}

export function createReloadableParts(options: ReloadablePartsOptions): PartsInUse {
  const { config, log, userAgent, clock, providerTypes: types, timer } = options;
  let now = assemble(config);

  function assemble(next: Config, before?: ReloadableParts): ReloadableParts {
    const { proxy } = config.network;
    const upstream = createUpstreamClient(next.server.deadlines, { timer, proxy });
    const context = { upstream, log, userAgent, routes: next.routing, clock, types, proxy };
    const known = knownEntries(next.data);
    const models = createProviderRegistry(next.providers, { ...context, known }, before?.models);
    return { config: next, upstream, models };
  }

  return {
    get now() {
      return now;
    },
    replace(next) {
      const before = now;
      now = assemble(next, before);
      before.models.close();
      // The old upstream client serves running calls; idle connections time out.
      return needsRestart(config, next);
    },
    refuse(reason) {
      now.refusal = reason;
    },
  };
}

/** Settings of which a change needs a restart, by their names in the configuration. */
const FIXED_SETTINGS: Readonly<Record<string, (config: Config) => unknown>> = {
  'server.host': ({ server }) => server.host,
  'server.port': ({ server }) => server.port,
  'server.public_url': ({ server }) => server.publicUrl,
  'server.workers': ({ server }) => server.workers,
  'server.body_limit': ({ server }) => server.bodyLimit,
  'server.body_memory': ({ server }) => server.bodyMemory,
  'server.connections_per_address': ({ server }) => server.connectionsPerAddress,
  'server.trusted_proxies': ({ server }) => server.trustedProxies,
  'server.prefixes': ({ server }) => server.prefixes,
  data: ({ data, postgres }) => ({ data, postgres }),
  'usage.durability': ({ usage }) => usage.durability,
  'usage.journal': ({ usage }) => usage.journal,
  'usage.export': ({ usage }) => usage.export,
  encryption: ({ encryption }) => encryption,
  network: ({ network }) => network,
  callbacks: ({ callbacks }) => callbacks,
  notices: ({ notices }) => notices,
  videos: ({ videos }) => videos,
  telemetry: ({ telemetry }) => telemetry,
  admin: ({ admin }) => admin,
  ui: ({ ui }) => ui,
};

/** Returns the names of the changed ones. */
export function needsRestart(before: Config, next: Config): string[] {
  return Object.keys(FIXED_SETTINGS).filter((name) => {
    const of = FIXED_SETTINGS[name];
    return of && jsonWithSecrets(of(before)) !== jsonWithSecrets(of(next));
  });
}

/** JSON with secrets revealed, for comparison only: masked secrets all look alike. */
function jsonWithSecrets(setting: unknown): string | undefined {
  return JSON.stringify(setting, function (this: Record<string, unknown>, name, value) {
    const own = this[name];
    return own instanceof Secret ? own.reveal() : value;
  });
}
