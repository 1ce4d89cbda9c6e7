/** A pinned connection with the client of undici that sends on it. Loaded with the first request, because undici takes 10 MB. */

import requestOf from 'undici/lib/api/api-request.js';
import Client from 'undici/lib/dispatcher/client.js';
import type { Connection } from './connection-pool.ts';
import { type PinnedConnection, pinnedConnector } from './pinned-connector.ts';

export { authoritiesWith } from './authorities.ts';
export { requestOf };

export interface ConnectionOptions extends Omit<PinnedConnection, 'onPeer'> {
  key: string;
  maxHeaderBytes: number;
  checkedAt: number;
}

/** Time after which an idle connection is closed. A receiver may announce a shorter one. */
const IDLE_TIMEOUT_MS = 10_000;

/** Undici's own timeouts restart with every byte, so only the signals of requests bound the time. */
export function openConnection(url: URL, options: ConnectionOptions): Connection {
  let address = '';
  const connect = pinnedConnector(url, {
    ...options,
    onPeer(peer) {
      address = peer;
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
