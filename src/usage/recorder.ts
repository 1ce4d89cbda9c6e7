/**
 * Writes records of use in flushes, one at a time: what comes while the disk is busy shares the next one. A flush that
 * fails because the store is unavailable is tried again until it is done. Meanwhile nobody waits for it, and nothing new
 * should begin. A record that the store refuses is set aside, and the others of its flush go on.
 */

import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import {
  emptyBatch,
  entriesOf,
  type Flush,
  flushOf,
  joinEntries,
  type PendingBatch,
  requestIdOf,
  sizeOf,
} from './flush.ts';
import type { Completion, Intent } from './record.ts';
import { setAsideRecord } from './refused-records.ts';

export interface RecorderOptions {
  store: Pick<Store, 'call'>;
  /** This gateway among those that share the store. */
  instance: string;
  /** `batched` writes no intents and lets nobody wait. */
  durability: 'strict' | 'batched';
  log: Logger;
  /** Records that may wait while the store cannot be written; beyond it new requests are refused or, when batched, not recorded. */
  capacity?: number;
}

export interface Recorder {
  /** False when so much waits to be written that nothing more should begin. */
  readonly ready: boolean;
  /** Settles when the intent is durable; at once when batched. */
  begin(intent: Intent): Promise<void>;
  /** Nothing was sent after all: there will be no record. */
  withdraw(intent: Intent): void;
  /** Settles when the record is durable; at once when batched. */
  finish(intent: Intent, completion: Completion): Promise<void>;
  /** Settles when what is finished so far is written, or cannot be for now. */
  flushed(): Promise<void>;
  /** Records that are to be written. */
  readonly waiting: number;
  /** Records that could not be kept. */
  readonly lost: number;
  /** Records that the store refused and that are kept apart. */
  readonly refused: number;
  /** Waits for requests that have begun to end, and writes what waits, for as long as `patience` milliseconds. */
  close(patience: number): Promise<void>;
}

const MAX_PENDING_RECORDS = 20_000;
/** Milliseconds that a record may wait for others where nobody waits for it. */
const BATCH_DELAY_MS = 50;
/** Milliseconds between two tries, doubling up to the second. */
const MIN_RETRY_DELAY_MS = 100;
const MAX_RETRY_DELAY_MS = 5_000;
/** Milliseconds between two looks for requests that have ended, when the recorder is closed. */
const ENDING_CHECK_MS = 5;

export function createRecorder({
  store,
  instance,
  durability,
  log,
  capacity = MAX_PENDING_RECORDS,
}: RecorderOptions): Recorder {
  const strict = durability === 'strict';
  let waiting = emptyBatch();
  let running: Promise<void> | undefined;
  let batchTimer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  let failing = false;
  let closing = false;
  let lost = 0;
  let refused = 0;
  /** Ids of requests whose intents were set aside. */
  const withoutIntent = new Set<string>();
  /** Ids of requests that have begun and not ended: their clients may be gone, and nobody else waits for them. */
  const underWay = new Set<string>();

  const size = () => sizeOf(waiting);

  function flush(): void {
    clearTimeout(batchTimer);
    batchTimer = undefined;
    running ??= run().finally(() => {
      running = undefined;
      if (size() === 0 || closing) return;
      if (strict) flush();
      else flushSoon();
    });
  }

  function flushSoon(): void {
    batchTimer ??= setTimeout(flush, BATCH_DELAY_MS).unref();
  }

  async function run(): Promise<void> {
    // Everything of this turn of the loop goes along.
    await Promise.resolve();
    const batch = waiting;
    waiting = emptyBatch();
    const flush = flushOf(batch, { instance, strict, withoutIntent }, (id, error) => {
      lost += 1;
      log.error({ request: id, problem: error.message }, 'a record of use could not be made');
    });
    await persist(flush, () => {
      release(batch);
      release(waiting);
    });
    release(batch);
  }

  /** Settles when everything is written or set aside, or when it is given up at the end. */
  async function persist(flush: Flush, onDelay: () => void): Promise<void> {
    for (let delayMs = MIN_RETRY_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_DELAY_MS)) {
      try {
        await store.call('recordUsage', flush);
        failing = false;
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) return isolate(flush, error as Error, onDelay);
        if (!failing) log.error({ problem: error.problem }, 'use cannot be recorded for now');
        failing = true;
        onDelay();
        if (closing) return;
        await new Promise((resolve) => setTimeout(resolve, delayMs).unref());
      }
    }
  }

  /** Halves what the store refused until the records that it refuses stand alone. */
  async function isolate(flush: Flush, problem: Error, onDelay: () => void): Promise<void> {
    const entries = entriesOf(flush);
    const [only, ...others] = entries;
    if (only === undefined) return;
    if (others.length > 0) {
      const half = Math.ceil(entries.length / 2);
      for (const part of [entries.slice(0, half), entries.slice(half)]) {
        await persist(joinEntries(part), onDelay);
      }
      return;
    }
    const request = requestIdOf(only);
    if (!('finished' in only)) {
      if ('begun' in only) withoutIntent.add(request);
      log.error({ request, problem: problem.message, entry: only }, 'the store refused to note a request');
    } else if (
      await setAsideRecord({ store, log }, { id: request, record: only.finished.row, problem: problem.message })
    ) {
      refused += 1;
    } else lost += 1;
  }

  function add(put: (done: () => void) => void, soon: () => void): Promise<void> {
    return new Promise((resolve) => {
      put(resolve);
      if (failing) resolve();
      if (!running) soon();
    });
  }

  return {
    get ready() {
      return !strict || (!failing && size() < capacity);
    },
    get waiting() {
      return size();
    },
    get lost() {
      return lost;
    },
    get refused() {
      return refused;
    },
    begin(intent) {
      underWay.add(intent.id);
      return strict ? add((done) => waiting.begun.push({ intent, done }), flush) : Promise.resolve();
    },
    withdraw(intent) {
      underWay.delete(intent.id);
      if (!strict) return;
      waiting.withdrawn.push(intent.id);
      flush();
    },
    finish(intent, completion) {
      underWay.delete(intent.id);
      if (!strict && size() >= capacity) {
        lost += 1;
        return Promise.resolve();
      }
      last = add((done) => waiting.finished.push({ intent, completion, done }), strict ? flush : flushSoon);
      return strict ? last : Promise.resolve();
    },
    flushed() {
      if (size() > 0) flush();
      return last;
    },
    async close(patience) {
      const timedOut = new Promise<void>((resolve) => setTimeout(resolve, patience).unref());
      let late = false;
      while ((running || size() > 0 || underWay.size > 0) && !late) {
        if (size() > 0) flush();
        const next = running ?? new Promise((resolve) => setTimeout(resolve, ENDING_CHECK_MS));
        late = (await Promise.race([next.then(() => false), timedOut.then(() => true)])) === true;
      }
      closing = true;
    },
  };
}

function release({ begun, finished }: PendingBatch): void {
  for (const { done } of [...begun, ...finished]) done();
}
