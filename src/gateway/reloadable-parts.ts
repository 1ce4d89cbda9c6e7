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
    const upstream = createUpstreamClient(next.server.deadlines, timer);
    const context = { upstream, log, userAgent, routes: next.routing, clock, types };
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

/** Returns the names of the changed ones. */
export function needsRestart(before: Config, next: Config): string[] {
  const changed: string[] = [];
  if (before.server.host !== next.server.host) changed.push('server.host');
  if (before.server.port !== next.server.port) changed.push('server.port');
  if (before.server.publicUrl !== next.server.publicUrl) changed.push('server.public_url');
  if (before.server.workers !== next.server.workers) changed.push('server.workers');
  if (before.server.bodyLimit !== next.server.bodyLimit) changed.push('server.body_limit');
  if (before.server.bodyMemory !== next.server.bodyMemory) changed.push('server.body_memory');
  if (before.server.connectionsPerAddress !== next.server.connectionsPerAddress)
    changed.push('server.connections_per_address');
  if (before.server.trustedProxies.join() !== next.server.trustedProxies.join()) changed.push('server.trusted_proxies');
  if (JSON.stringify(before.server.prefixes) !== JSON.stringify(next.server.prefixes)) changed.push('server.prefixes');
  const isSameDatabase = before.postgres?.reveal() === next.postgres?.reveal();
  if (before.data !== next.data || !isSameDatabase) changed.push('data');
  if (before.usage.durability !== next.usage.durability) changed.push('usage.durability');
  if (before.usage.journal !== next.usage.journal) changed.push('usage.journal');
  if (jsonWithSecrets(before.usage.export) !== jsonWithSecrets(next.usage.export)) changed.push('usage.export');
  for (const section of [
    'encryption',
    'network',
    'callbacks',
    'notices',
    'videos',
    'telemetry',
    'admin',
    'ui',
  ] as const) {
    if (jsonWithSecrets(before[section]) !== jsonWithSecrets(next[section])) changed.push(section);
  }
  return changed;
}

/** JSON with secrets revealed, for comparison only: masked secrets all look alike. */
function jsonWithSecrets(section: object | undefined): string | undefined {
  return JSON.stringify(section, function (this: Record<string, unknown>, name, value) {
    const own = this[name];
    return own instanceof Secret ? own.reveal() : value;
  });
}
