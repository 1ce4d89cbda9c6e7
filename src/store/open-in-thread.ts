/** Opening of the gateway's store in another thread of the process. */

import type { MessagePort } from 'node:worker_threads';
import { Secret } from '../security/secret.ts';
import { MIGRATIONS_FOLDER } from './migrations.ts';
import { OPERATIONS_MODULE } from './open.ts';
import { operations } from './operations/index.ts';
import { createPortStore } from './sqlite/port-store.ts';
import type { DatabaseRole, Store, StoreAccess } from './store.ts';

/** `StoreAccess` as a message; the main thread connects the ports. */
export type StoreAccessMessage = { engine: 'sqlite' } | { engine: 'postgres'; url: string };

/** Connections of a thread to a PostgreSQL server; of `usage`, one makes the tables of the months. */
const POOL_SIZES = { state: 4, usage: 1 };

export function accessMessage(access: StoreAccess): StoreAccessMessage {
  return access.engine === 'sqlite' ? { engine: 'sqlite' } : { engine: 'postgres', url: access.url.reveal() };
}

export async function openStoreInThread(
  access: StoreAccessMessage,
  attach: (role: DatabaseRole, port: MessagePort) => void,
): Promise<Store> {
  if (access.engine === 'sqlite') return createPortStore({ operations, attach });
  const { openPostgres } = await import('./postgres/store.ts');
  const modules = { operations: OPERATIONS_MODULE, migrations: MIGRATIONS_FOLDER };
  return openPostgres({ url: new Secret(access.url), poolSizes: POOL_SIZES, ...modules });
}
