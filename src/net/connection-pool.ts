/** Idle connections of a guarded client. Each stays pinned to the checked address it was made to. */

import type { Dispatcher } from 'undici';
import type Client from 'undici/lib/dispatcher/client.js';
import { parseAddress, sameAddress } from './public-addresses.ts';

export interface Connection {
  /** Connections with the same key are interchangeable. */
  readonly key: string;
  readonly client: Client;
  /** One request at a time, and the head of its response. */
  request(asked: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>;
  /** IP address of the connection; empty before it is established. */
  readonly address: string;
  /** Time at which the addresses of the name were checked. */
  checkedAt: number;
  readonly closed: boolean;
  /** Called once when the connection is closed. */
  onClosed: () => void;
  destroy(): void;
}

/** Whether a connection leads to one of the addresses; texts that are not addresses are ignored. */
export function leadsToOneOf({ address }: Connection, addresses: readonly string[]): boolean {
  const peer = parseAddress(address);
  return addresses.some((text) => {
    const other = parseAddress(text);
    return peer !== undefined && other !== undefined && sameAddress(peer, other);
  });
}

export interface PoolLimits {
  /** Idle connections in all. */
  total: number;
  /** Idle connections to one receiver. */
  perKey: number;
}

export interface ConnectionPool {
  /** The idle connection that was used last. */
  take(key: string): Connection | undefined;
  /** Keeps a connection whose response was read to its end. The longest idle one makes room for it. */
  keep(connection: Connection): void;
  /** Number of idle connections. */
  size(): number;
  close(): void;
}

export function createConnectionPool({ total, perKey }: PoolLimits): ConnectionPool {
  /** Idle connections, the longest idle first. */
  const idle = new Set<Connection>();
  const byKey = new Map<string, Set<Connection>>();

  function remove(connection: Connection): void {
    idle.delete(connection);
    const same = byKey.get(connection.key);
    same?.delete(connection);
    if (same?.size === 0) byKey.delete(connection.key);
  }

  function evict(oldest: Connection | undefined): void {
    if (!oldest) return;
    remove(oldest);
    oldest.destroy();
  }

  return {
    take(key) {
      const connection = [...(byKey.get(key) ?? [])].at(-1);
      if (connection) remove(connection);
      return connection;
    },
    keep(connection) {
      if (connection.closed) return connection.destroy();
      const same = byKey.get(connection.key) ?? new Set();
      byKey.set(connection.key, same.add(connection));
      idle.add(connection);
      connection.onClosed = () => remove(connection);
      if (same.size > perKey) evict(same.values().next().value);
      if (idle.size > total) evict(idle.values().next().value);
    },
    size: () => idle.size,
    close() {
      for (const connection of idle) connection.destroy();
      idle.clear();
      byKey.clear();
    },
  };
}
