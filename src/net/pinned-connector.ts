/** Connector of the guarded client: connects only to checked addresses; TLS still verifies the certificate against the name. */

import { isIP, type LookupFunction, Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import buildConnector from 'undici/lib/core/connect.js';
import type { Clock } from '../core/clock.ts';
import { canonicalName } from './address-policy.ts';
import { literalAddress } from './check-url.ts';
import { FetchFailure, toFetchFailure } from './fetch-failure.ts';
import { parseAddress, sameAddress } from './public-addresses.ts';
import type { HandshakeSlots } from './semaphore.ts';

export interface PinnedConnection {
  /** The checked addresses. */
  addresses: readonly string[];
  secureContext: SecureContext;
  /** Milliseconds until the connection is established. */
  connectDeadline: number;
  /** Aborts the wait for a handshake slot. */
  signal: AbortSignal;
  handshakes: HandshakeSlots;
  clock: Clock;
  /** Called with the socket once it leads to a checked address. */
  onConnected(socket: Socket): void;
}

/** Makes one connection. A second one would need other checks, so it fails with `ConnectionGone`. */
export function pinnedConnector(url: URL, connection: PinnedConnection): buildConnector.connector {
  const connect = connectorTo(url, connection);
  let isUsed = false;
  return (options, callback) => {
    if (isUsed) return callback(new ConnectionGone(), null);
    isUsed = true;
    const handshake = () =>
      new Promise<void>((resolve) => {
        connect(options, (...result) => {
          resolve();
          callback(...result);
        });
      });
    connection.handshakes(handshake, connection.signal).catch((error) => callback(error, null));
  };
}

/** The connection was closed before a request was sent on it. */
class ConnectionGone extends Error {
  readonly code = 'ERR_CONNECTION_GONE';

  constructor() {
    super('the connection is closed');
  }
}

function connectorTo(url: URL, connection: PinnedConnection): buildConnector.connector {
  const list = connection.addresses.map((address) => ({ address, family: isIP(address) }));
  const allowed = connection.addresses.map(parseAddress);
  const lookup: LookupFunction = (_name, options, callback) => {
    const [first = { address: '', family: 0 }] = list;
    if (options.all) callback(null, list);
    else callback(null, first.address, first.family);
  };
  const connect = buildConnector({
    ...(!literalAddress(url) && { servername: canonicalName(url.hostname) }),
    secureContext: connection.secureContext,
    lookup,
    timeout: 0,
    // Overrides NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 250,
    maxCachedSessions: 0,
    allowH2: false,
    keepAlive: false,
  });
  return (options, callback) => {
    let stage: 'connect' | 'tls' = 'connect';
    let cancelTimer: (() => void) | undefined;
    const connecting: unknown = connect(options, (error, socket) => {
      cancelTimer?.();
      if (error) return callback(stage === 'tls' ? handshakeFailure(error) : error, null);
      const peer = parseAddress(socket.remoteAddress ?? '');
      if (!peer || !allowed.some((address) => address && sameAddress(address, peer))) {
        socket.destroy();
        return callback(new FetchFailure('blocked'), null);
      }
      connection.onConnected(socket);
      callback(null, socket);
    });
    // Undici gives the socket back, which its types don't say, and its own timer is off by up to a second.
    if (!(connecting instanceof Socket)) return;
    connecting.once('connect', () => {
      stage = 'tls';
    });
    cancelTimer = connection.clock.after(connection.connectDeadline, () => connecting.destroy(new FetchFailure(stage)));
  };
}

/** A connection closed during the handshake is a TLS failure. */
function handshakeFailure(error: Error): Error {
  const failure = toFetchFailure(error);
  const isCut = failure instanceof FetchFailure && failure.outcome === 'connect';
  return isCut ? new FetchFailure('tls', undefined, error) : error;
}
