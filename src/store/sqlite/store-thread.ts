/** Store thread: the main thread's side of a database thread. Sends calls, receives results, restarts a thread that died. */

import { extname } from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { Clock } from '../../core/clock.ts';
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
  /** Whether a call needs no start of the thread. */
  isRunning(): boolean;
  /** Serves calls that arrive at the port; closes it when the thread ends, or at once if it does not run. */
  attach(port: MessagePort): void;
  /** Lets the thread collect its memory; resolves when it has, or has ended. */
  releaseMemory(): Promise<void>;
  /** Waits for pending calls. */
  close(): Promise<void>;
}

interface Thread {
  worker: Worker;
  pending: PendingCalls;
  ready: Promise<void>;
  releaseMemory(): Promise<void>;
  /** Ends the thread after its pending calls. */
  close(): Promise<void>;
}

export interface StoreThreadOptions extends ThreadOptions {
  /** Time without a call after which the thread ends; the next call starts another. */
  idleMs?: number;
}

const IN_BACKGROUND = { background: true };

/** Starts the thread lazily. */
export function createStoreThread(options: StoreThreadOptions, clock: Clock): StoreThread {
  const { idleMs } = options;
  let thread: Thread | undefined;
  let failures = 0;
  let restartAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let cancelIdle: (() => void) | undefined;
  let lastCallAt = 0;
  /** Whether other threads may use the thread without a word to this one. */
  let isShared = false;
  /** Ends of threads that idled. */
  let ended: Promise<unknown> = Promise.resolve();

  /** One timer looks after all calls, so that a call costs no timer. */
  function endIdle(): void {
    if (!thread || isShared || idleMs === undefined) return;
    if (thread.pending.size > 0 || clock.monotonic() - lastCallAt < idleMs) {
      cancelIdle = clock.after(idleMs, endIdle, IN_BACKGROUND);
      return;
    }
    ended = Promise.all([ended, thread.close()]);
    thread = undefined;
  }

  function running(): Thread {
    if (closed) throw new StoreUnavailable('the store is closed');
    if (thread) return thread;
    if (clock.monotonic() < restartAt)
      throw new StoreUnavailable(`the ${options.role} failed and is not started again yet`);
    const started = startThread(options, clock, (served) => {
      if (thread === started) {
        thread = undefined;
        isShared = false;
      }
      failures = served ? 0 : failures + 1;
      if (failures > 0)
        restartAt = clock.monotonic() + Math.min(MAX_RESTART_DELAY_MS, MIN_RESTART_DELAY_MS * 2 ** (failures - 1));
    });
    thread = started;
    if (idleMs !== undefined) {
      cancelIdle?.();
      cancelIdle = clock.after(idleMs, endIdle, IN_BACKGROUND);
    }
    return started;
  }

  return {
    busyMs: () => (thread && thread.pending.size > 0 ? clock.monotonic() - thread.pending.since : 0),
    isRunning: () => thread !== undefined,
    ready: async () => running().ready,
    async call(name, parameters) {
      const { worker, pending } = running();
      lastCallAt = clock.monotonic();
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
    releaseMemory: async () => thread?.releaseMemory(),
    async close() {
      closed = true;
      cancelIdle?.();
      await Promise.all([ended, thread?.close()]);
    },
  };
}

function send(worker: Worker, message: ThreadRequest): void {
  worker.postMessage(message);
}

/** `onEnd` receives whether the thread ever became ready. An idle thread does not keep the process alive. */
function startThread(options: ThreadOptions, clock: Clock, onEnd: (hasServed: boolean) => void): Thread {
  const { role, database } = options;
  const worker = new Worker(THREAD_MODULE, { workerData: options, execArgv: [], name: `${role} of ${database}` });
  const pending = createPendingCalls(clock);
  let served = false;
  let isClosing = false;
  let releasing: PromiseWithResolvers<void> | undefined;
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
          return;
        case 'released':
          releasing?.resolve();
          releasing = undefined;
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
  async function releaseMemory(): Promise<void> {
    if (!releasing) send(worker, { type: 'release' });
    releasing ??= Promise.withResolvers();
    await Promise.race([releasing.promise, ended]);
  }

  async function close(): Promise<void> {
    isClosing = true;
    worker.ref();
    send(worker, { type: 'close' });
    await ended;
  }

  return { worker, pending, ready, releaseMemory, close };
}
