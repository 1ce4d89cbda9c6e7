/** Connection limits of a server: in total, and per client address. */

import type { Server, ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../core/clock.ts';
import { isWithin, parseClientAddress } from '../keys/scopes.ts';
import { maxConnections } from './open-files.ts';

export interface ConnectionLimits {
  perAddress: number;
  /** Address ranges of proxies, which have no limit of their own because each serves many clients. */
  trustedProxies?: readonly string[];
  /** Maximum in total; by default derived from the open file limit. */
  total?: number;
  log: Pick<Logger, 'warn'>;
  clock?: Clock;
}

/** Timeout of a request head, and interval of the check for it. */
const HEADERS_TIMEOUT_MS = 15_000;
const CONNECTIONS_CHECK_INTERVAL_MS = 5_000;
/** Options of every server. A missing `Host` is refused later, with an error in the protocol's format. */
export const HTTP_OPTIONS: ServerOptions = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: CONNECTIONS_CHECK_INTERVAL_MS,
  requireHostHeader: false,
};

/** Minimum interval between two warnings about refused connections. */
const WARN_INTERVAL_MS = 60_000;
/** Prefix of an IPv6 address that identifies a client's network. */
const IPV6_NETWORK_BYTES = 8;

export function limitConnections(
  server: Server,
  { perAddress, trustedProxies = [], total, log, clock = systemClock }: ConnectionLimits,
): void {
  const open = new Map<string, number>();
  const max = total ?? maxConnections();
  // A single address cannot take all connections.
  const share = max === undefined ? perAddress : Math.max(1, Math.min(perAddress, Math.floor(max / 2)));
  const warn = createWarning(log, clock);
  if (max !== undefined) server.maxConnections = max;
  // An unknown `Expect` header is ignored.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('drop', () =>
    warn(`connections are refused: ${max} are open, which the limit of open files leaves room for`),
  );

  server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (isWithin(trustedProxies, address)) return;
    const network = networkOf(address);
    const count = open.get(network) ?? 0;
    if (count >= share) {
      warn(`connections of ${address} are refused: ${share} are open; see server.connections_per_address`);
      socket.destroy();
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
}

function networkOf(address: string): string {
  const bytes = parseClientAddress(address);
  if (!bytes || bytes.length === 4) return address;
  return Buffer.from(bytes.slice(0, IPV6_NETWORK_BYTES)).toString('hex');
}

function createWarning(log: Pick<Logger, 'warn'>, clock: Clock): (message: string) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (message) => {
    if (clock.monotonic() < quietUntil) return;
    quietUntil = clock.monotonic() + WARN_INTERVAL_MS;
    log.warn(message);
  };
}
