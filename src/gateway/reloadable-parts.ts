/** Settings of which a change needs a restart. */

import type { Config } from '../config/resolved.ts';
import { Secret } from '../security/secret.ts';

/** Names of the changed ones. */
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
  if (before.data !== next.data) changed.push('data');
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
