/** Connection limits of a server: in total, and per client address. */

import { readFileSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../core/clock.ts';
import { isWithin } from '../keys/scopes.ts';
import { networkOf } from './client-address.ts';

export interface ConnectionLimits {
  perAddress: number;
  /** Address ranges of proxies, which have no limit of their own because each serves many clients. */
  trustedProxies?: readonly string[];
  /** Maximum in total; by default derived from the open file limit. */
  total?: number;
  log: Pick<Logger, 'warn'>;
  clock?: Clock;
}

/** Minimum interval between two warnings about refused connections. */
const WARN_INTERVAL_MS = 60_000;
/** File descriptors of the gateway itself: files, threads, pipes and database connections. */
const RESERVED_FILES = 96;
/** One connection to the client and one to the upstream. */
const FILES_PER_CONNECTION = 2;

/** Closes connections beyond the limit of an address, and refuses those that the limit of open files has no room for. */
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

function createWarning(log: Pick<Logger, 'warn'>, clock: Clock): (message: string) => void {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (message) => {
    if (clock.monotonic() < quietUntil) return;
    quietUntil = clock.monotonic() + WARN_INTERVAL_MS;
    log.warn(message);
  };
}

/** Maximum number of connections under the open file limit of this process; undefined if that is unknown. */
export function maxConnections(limit = openFileLimit()): number | undefined {
  if (limit === undefined) return undefined;
  const free = limit - Math.min(RESERVED_FILES, limit / 2);
  return Math.max(1, Math.floor(free / FILES_PER_CONNECTION));
}

function openFileLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return reportedLimit();
  }
}

/** Limit of open files from the report of Node, for systems without /proc. */
function reportedLimit(): number | undefined {
  // Prevents reverse DNS lookups for the report; missing in the types.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: number | string } } };
  const soft = Number(userLimits?.open_files?.soft);
  return Number.isSafeInteger(soft) ? soft : undefined;
}
