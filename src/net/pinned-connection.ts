/** A pinned connection with the client of undici that sends on it. Loaded with the first request, because undici takes 10 MB. */

import type { Socket } from 'node:net';
import requestOf from 'undici/lib/api/api-request.js';
import Client from 'undici/lib/dispatcher/client.js';
import type { Connection } from './connection-pool.ts';
import { FetchFailure } from './fetch-failure.ts';
import { type PinnedConnection, pinnedConnector } from './pinned-connector.ts';

export { authoritiesWith } from './authorities.ts';

export interface ConnectionOptions extends Omit<PinnedConnection, 'onConnected'> {
  key: string;
  maxHeaderBytes: number;
  checkedAt: number;
}

/** Time after which an idle connection is closed. A receiver may announce a shorter one. */
const IDLE_TIMEOUT_MS = 10_000;

/**
 * Bytes from a request to the end of the headers of its response. They include what has no limit of its own, such as responses
 * with 1xx, reason phrases and empty lines, which would take processor time until the deadline.
 */
const MAX_HEAD_BYTES = 1024 * 1024;

/** Undici's own timeouts restart with every byte, so only the signals of requests bound the time. */
export function openConnection(url: URL, options: ConnectionOptions): Connection {
  let address = '';
  let socket: Socket | undefined;
  /** Bytes that the socket had received when the request was made whose response has not begun. */
  let receivedBefore: number | undefined;
  const connect = pinnedConnector(url, {
    ...options,
    onConnected(connected) {
      socket = connected;
      address = connected.remoteAddress ?? '';
      connected.on('readable', () => {
        if (receivedBefore === undefined || connected.bytesRead - receivedBefore <= MAX_HEAD_BYTES) return;
        connected.destroy(new FetchFailure('protocol'));
      });
    },
  });
  const client = new Client(url.origin, {
    connect,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
    maxHeaderSize: options.maxHeaderBytes,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAliveMaxTimeout: IDLE_TIMEOUT_MS,
  });
  let closed = false;
  const connection: Connection = {
    key: options.key,
    client,
    async request(asked) {
      receivedBefore = socket?.bytesRead ?? 0;
      try {
        return await requestOf.call(client, asked);
      } finally {
        receivedBefore = undefined;
      }
    },
    get address() {
      return address;
    },
    get closed() {
      return closed;
    },
    checkedAt: options.checkedAt,
    onClosed() {},
    destroy: () => void client.destroy().catch(() => {}),
  };
  client.once('disconnect', () => {
    closed = true;
    connection.onClosed();
  });
  return connection;
}
