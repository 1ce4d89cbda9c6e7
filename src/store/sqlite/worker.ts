/** Main-thread side of a database thread: sends calls, receives results, restarts a thread that died. */

import { extname } from 'node:path';
import { type MessagePort, Worker as NodeWorker } from 'node:worker_threads';
import { StoreUnavailable } from '../unavailable.ts';
import { decodeFailure } from './failure.ts';
import { createPendingCalls, type PendingCalls } from './pending-calls.ts';
import type { ThreadMessage, ThreadOptions, ThreadRequest } from './thread.ts';

/** Delay before a restart: doubled by each consecutive failure. */
const MIN_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 15_000;

const THREAD_MODULE = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);

export interface StoreThread {
  /** Resolves when the database is open; rejects if it cannot be opened. */
  ready(): Promise<void>;
  call(name: string, parameters: unknown): Promise<unknown>;
  /** Time for which there have been calls without a result, in milliseconds. */
  busyMs(): number;
  /** Serves calls that arrive at the port; closes it when the thread ends, or at once if it does not run. */
  attach(port: MessagePort): void;
  /** Waits for pending calls. */
  close(): Promise<void>;
}

interface Thread {
  worker: NodeWorker;
  pending: PendingCalls;
  ready: Promise<void>;
  /** Ends the thread after its pending calls. */
  close(): Promise<void>;
}

export interface StoreThreadOptions extends ThreadOptions {
  /** Time without a call after which the thread ends; the next call starts another. */
  idleMs?: number;
}

/** Starts the thread lazily. */
export function createWorker(options: StoreThreadOptions): StoreThread {
  const { idleMs } = options;
  let thread: Thread | undefined;
  let failures = 0;
  let restartAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let idleTimer: NodeJS.Timeout | undefined;
  let lastCallAt = 0;
  /** Whether other threads may use the thread without a word to this one. */
  let isShared = false;
  /** Ends of threads that idled. */
  let ended: Promise<unknown> = Promise.resolve();

  /** One timer looks after all calls, so that a call costs no timer. */
  function endIdle(): void {
    if (!thread || isShared || idleMs === undefined) return;
    if (thread.pending.size > 0 || performance.now() - lastCallAt < idleMs) {
      idleTimer = setTimeout(endIdle, idleMs).unref();
      return;
    }
    ended = Promise.all([ended, thread.close()]);
    thread = undefined;
  }

  function running(): Thread {
    if (closed) throw new StoreUnavailable('the store is closed');
    if (thread) return thread;
    if (performance.now() < restartAt)
      throw new StoreUnavailable(`the ${options.role} failed and is not started again yet`);
    const started = startThread(options, (served) => {
      if (thread === started) {
        thread = undefined;
        isShared = false;
      }
      failures = served ? 0 : failures + 1;
      if (failures > 0)
        restartAt = performance.now() + Math.min(MAX_RESTART_DELAY_MS, MIN_RESTART_DELAY_MS * 2 ** (failures - 1));
    });
    thread = started;
    if (idleMs !== undefined) {
      clearTimeout(idleTimer);
      idleTimer = setTimeout(endIdle, idleMs).unref();
    }
    return started;
  }

  return {
    busyMs: () => (thread && thread.pending.size > 0 ? performance.now() - thread.pending.since : 0),
    ready: async () => running().ready,
    async call(name, parameters) {
      const { worker, pending } = running();
      lastCallAt = performance.now();
      return pending.send(name, parameters, (call) => {
        send(worker, { type: 'call', call });
        if (pending.size === 0) worker.ref();
      });
    },
    attach(port) {
      try {
        running().worker.postMessage({ type: 'attach', port } satisfies ThreadRequest, [port]);
        isShared = true;
      } catch {
        port.close();
      }
    },
    async close() {
      closed = true;
      clearTimeout(idleTimer);
      await Promise.all([ended, thread?.close()]);
    },
  };
}

function send(worker: NodeWorker, message: ThreadRequest): void {
  worker.postMessage(message);
}

/** `onEnd` receives whether the thread ever became ready. An idle thread does not keep the process alive. */
function startThread(options: ThreadOptions, onEnd: (hasServed: boolean) => void): Thread {
  const { role, database } = options;
  const worker = new NodeWorker(THREAD_MODULE, { workerData: options, execArgv: [], name: `${role} of ${database}` });
  const pending = createPendingCalls();
  let served = false;
  let isClosing = false;
  let problem: Error = new StoreUnavailable(`the ${role} ended`);

  /** A closing thread stays referenced: the process must not exit before it. */
  function unrefIdle(): void {
    if (pending.size === 0 && !isClosing) worker.unref();
  }

  const ready = new Promise<void>((resolve, reject) => {
    worker.on('message', (message: ThreadMessage) => {
      switch (message.type) {
        case 'ready':
          served = true;
          unrefIdle();
          return resolve();
        case 'unusable':
          problem = decodeFailure(message.failure);
          return;
        case 'results':
          pending.settle(message.results);
          unrefIdle();
      }
    });
    worker.on('error', (error) => {
      problem = new StoreUnavailable(`the ${role} ended: ${(error as Error).message}`, error);
    });
    worker.on('exit', () => reject(problem));
  });
  ready.catch(() => undefined);
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      onEnd(served);
      pending.reject(problem);
      resolve();
    });
  });
  async function close(): Promise<void> {
    isClosing = true;
    worker.ref();
    send(worker, { type: 'close' });
    await ended;
  }

  return { worker, pending, ready, close };
}
