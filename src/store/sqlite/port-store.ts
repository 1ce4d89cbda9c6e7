/** Store of another thread: its calls go straight to the database threads, which commit them with those of the gateway. */

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { systemClock } from '../../core/clock.ts';
import { createHealthCheck } from '../health.ts';
import type { StoreOperation } from '../operation.ts';
import type { DatabaseRole, Store } from '../store.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { createPendingCalls, type PendingCalls } from './pending-calls.ts';
import type { ThreadMessage, ThreadRequest } from './thread.ts';

export interface PortStoreOptions {
  operations: Record<string, StoreOperation<never, unknown>>;
  /** Connects the port to the thread that owns the database; closes it if there is none at the moment. */
  attach(role: DatabaseRole, port: MessagePort): void;
}

interface Line {
  port: MessagePort;
  pending: PendingCalls;
}

/** Only operations on the state. */
export function createPortStore({ operations, attach }: PortStoreOptions): Store {
  const lines = new Map<DatabaseRole, Line>();
  let closed = false;

  function open(role: DatabaseRole): Line {
    const { port1: port, port2 } = new MessageChannel();
    const line = { port, pending: createPendingCalls() };
    port.on('message', (message: ThreadMessage) => {
      if (message.type === 'results') line.pending.settle(message.results);
    });
    port.on('close', () => {
      if (lines.get(role) === line) lines.delete(role);
      line.pending.reject(new StoreUnavailable(`the ${role} ended`));
    });
    lines.set(role, line);
    attach(role, port2);
    return line;
  }

  async function call(name: string, parameters: unknown): Promise<unknown> {
    if (closed) throw new StoreUnavailable('the store is closed');
    const operation = operations[name];
    if (operation?.database !== 'state') throw new Error(`no operation ${name} on the state`);
    const role = operation.scans ? 'reader' : 'writer';
    const { port, pending } = lines.get(role) ?? open(role);
    return pending.send(name, parameters, (message) =>
      port.postMessage({ type: 'call', call: message } satisfies ThreadRequest),
    );
  }

  const store: Store = {
    engine: 'sqlite',
    call: call as Store['call'],
    now: systemClock.now,
    health: createHealthCheck({ call: call as Store['call'] }, systemClock),
    async close() {
      closed = true;
      for (const { port } of lines.values()) port.close();
    },
  };
  return store;
}
