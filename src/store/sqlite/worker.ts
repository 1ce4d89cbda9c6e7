/** This side of a thread that reads or writes a file: calls in, answers out, and a new thread in place of one that died. */

import { extname } from 'node:path';
import { Worker as NodeWorker } from 'node:worker_threads';
import { StoreUnavailable } from '../unavailable.ts';
import { decodeFailure } from './failure.ts';
import type { FromThread, ThreadOptions, ToThread } from './thread.ts';

/** Milliseconds between attempts to start a thread: doubled by each failure in a row. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 15_000;

const THREAD = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);

export interface StoreThread {
  /** Resolves when the thread serves the file, or throws why it cannot. */
  ready(): Promise<void>;
  call(name: string, parameters: unknown): Promise<unknown>;
  /** Lets what was called finish. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

interface Thread {
  worker: NodeWorker;
  waiting: Map<number, Waiting>;
  ready: Promise<void>;
  /** Asks it to end once its calls are answered, and resolves when it has. */
  close(): Promise<void>;
}

/** Starts its thread when it is first needed. */
export function createWorker(options: ThreadOptions): StoreThread {
  let thread: Thread | undefined;
  let failures = 0;
  let notBefore = Number.NEGATIVE_INFINITY;
  let lastId = 0;
  let closed = false;

  function running(): Thread {
    if (closed) throw new StoreUnavailable('the store is closed');
    if (thread) return thread;
    if (performance.now() < notBefore)
      throw new StoreUnavailable(`the ${options.role} failed and is not started again yet`);
    thread = startThread(options, (served) => {
      thread = undefined;
      failures = served ? 0 : failures + 1;
      if (failures > 0) notBefore = performance.now() + Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - 1));
    });
    return thread;
  }

  return {
    ready: async () => running().ready,
    async call(name, parameters) {
      const { worker, waiting } = running();
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        send(worker, { type: 'call', call: { id, name, parameters } });
        if (waiting.size === 0) worker.ref();
        waiting.set(id, { resolve, reject });
      });
    },
    async close() {
      closed = true;
      await thread?.close();
    },
  };
}

function send(worker: NodeWorker, message: ToThread): void {
  worker.postMessage(message);
}

/** `onEnd` learns whether it ever served. The process may end while nobody waits for an answer. */
function startThread(options: ThreadOptions, onEnd: (served: boolean) => void): Thread {
  const { role, database } = options;
  const worker = new NodeWorker(THREAD, { workerData: options, execArgv: [], name: `${role} of ${database}` });
  const waiting = new Map<number, Waiting>();
  let served = false;
  let isClosing = false;
  let problem: Error = new StoreUnavailable(`the ${role} ended`);

  /** A thread that is asked to end is waited for, whatever it still says: the process must not end before it. */
  function unrefIdle(): void {
    if (waiting.size === 0 && !isClosing) worker.unref();
  }

  const ready = new Promise<void>((resolve, reject) => {
    worker.on('message', (message: FromThread) => {
      switch (message.type) {
        case 'ready':
          served = true;
          unrefIdle();
          return resolve();
        case 'unusable':
          problem = decodeFailure(message.failure);
          return;
        case 'answers':
          for (const answer of message.answers) {
            const caller = waiting.get(answer.id);
            waiting.delete(answer.id);
            if ('failure' in answer) caller?.reject(decodeFailure(answer.failure));
            else caller?.resolve(answer.result);
          }
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
      for (const { reject } of waiting.values()) reject(problem);
      resolve();
    });
  });
  async function close(): Promise<void> {
    isClosing = true;
    worker.ref();
    send(worker, { type: 'close' });
    await ended;
  }

  return { worker, waiting, ready, close };
}
