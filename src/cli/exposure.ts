/** Exposure check: a gateway without keys must listen on loopback only. */

import { isLoopback } from '../config/host.ts';
import type { Config } from '../config/resolved.ts';
import { GatewayError } from '../core/errors.ts';
import { type Key, stateOf } from '../keys/key.ts';

/** Throws `invalid_request` when the host is not a loopback address and no key is active. */
export function assertNotExposed({ server }: Config, keys: readonly Key[]): void {
  if (isLoopback(server.host) || keys.some((key) => stateOf(key, Date.now()) === 'active')) return;
  throw new GatewayError(
    'invalid_request',
    `server.host: ${server.host} can be reached from other machines, but there is no API key yet. ` +
      'Make one with "polygate keys create --name NAME", or listen on 127.0.0.1.',
  );
}
