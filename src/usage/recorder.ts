/**
 * Usage recorder with group commit: flushes run one at a time, and records that arrive meanwhile share the next one. A flush
 * is retried while the store is unavailable; meanwhile callers are released and no new request should begin. A record that
 * the store refuses is set aside; the others of its flush are written.
 */

import type { Logger } from 'pino';
import { type Clock, sleep, systemClock } from '../core/clock.ts';
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
  /** Instance id of this gateway. */
  instance: string;
  /** `batched` writes no intents, and callers do not wait. */
  durability: 'strict' | 'batched';
  log: Logger;
  /** Limit of pending records while the store is unavailable; beyond it new requests are refused or, if batched, not recorded. */
  capacity?: number;
  clock?: Pick<Clock, 'now' | 'after'>;
}

export interface Recorder {
  /** False if no new request should begin, because too many records are pending or the store is unavailable. */
  readonly ready: boolean;
  /** Resolves when the intent is durable; immediately if batched. */
  begin(intent: Intent): Promise<void>;
  /** As `begin`, with a callback. */
  beginThen(intent: Intent, onDurable: () => void): void;
  /** As `finish`, with a callback. */
  finishThen(intent: Intent, completion: Completion, onDurable: () => void): void;
  /** Withdraws the intent of a request that was not sent. */
  withdraw(intent: Intent): void;
  /** Resolves when the record is durable; immediately if batched. */
  finish(intent: Intent, completion: Completion): Promise<void>;
  /** Resolves when all records finished so far are written, or the store is unavailable. */
  flushed(): Promise<void>;
  /** Intents of requests that have begun and not ended, where this process alone knows them. */
  open(): Intent[];
  /** Number of pending records. */
  readonly waiting: number;
  /** Number of lost records. */
  readonly lost: number;
  /** Number of refused records that were set aside. */
  readonly refused: number;
  /** Waits for requests that have begun to end, and writes pending records, for at most `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

const MAX_PENDING_RECORDS = 20_000;
/** Time for which a batched record waits for others. */
const BATCH_DELAY_MS = 50;
/** Delay between two tries of a flush, doubled each time. */
const MIN_RETRY_DELAY_MS = 100;
const MAX_RETRY_DELAY_MS = 5_000;
const IN_BACKGROUND = { background: true };

export function createRecorder({
  store,
  instance,
  durability,
  log,
  capacity = MAX_PENDING_RECORDS,
  clock = systemClock,
}: RecorderOptions): Recorder {
  const strict = durability === 'strict';
  let waiting = emptyBatch();
  let running: Promise<void> | undefined;
  let cancelBatch: (() => void) | undefined;
  let last: Promise<void> = Promise.resolve();
  let failing = false;
  const closing = new AbortController();
  let flushes = 0;
  let lost = 0;
  let refused = 0;
  /** Ids of requests whose intents the store refused. */
  const withoutIntent = new Set<string>();
  /** Ids of requests that have begun and not ended: their clients may be gone, and nobody else waits for them. */
  const underWay = new Set<string>();
  let onEnded: (() => void) | undefined;

  const size = () => sizeOf(waiting);

  function flush(): void {
    cancelBatch?.();
    cancelBatch = undefined;
    running ??= run().finally(() => {
      running = undefined;
      if (size() === 0 || closing.signal.aborted) return;
      if (strict) flush();
      else flushSoon();
    });
  }

  function flushSoon(): void {
    cancelBatch ??= clock.after(BATCH_DELAY_MS, flush, IN_BACKGROUND);
  }

  async function run(): Promise<void> {
    // Includes all records of this turn of the event loop.
    await Promise.resolve();
    const batch = waiting;
    waiting = emptyBatch();
    const flush = flushOf(batch, { instance, strict, withoutIntent }, (id, error) => {
      lost += 1;
      log.error({ request: id, problem: error.message }, 'a usage record could not be encoded');
    });
    await persist(flush, () => {
      release(batch);
      release(waiting);
    });
    release(batch);
  }

  /** Settles when everything is written or set aside, or when it is given up at the end. */
  async function persist(flush: Flush, onDelay: () => void): Promise<void> {
    flushes += 1;
    const turn = { instance, number: flushes };
    for (let delayMs = MIN_RETRY_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_DELAY_MS)) {
      try {
        await store.call('recordUsage', { ...flush, turn });
        failing = false;
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) return isolate(flush, error as Error, onDelay);
        if (!failing) log.error({ problem: error.problem }, 'usage records cannot be written; retrying');
        failing = true;
        onDelay();
        await sleep(clock, delayMs, closing.signal, IN_BACKGROUND);
        if (closing.signal.aborted) return;
      }
    }
  }

  /** Bisects a refused flush until each refused record is isolated. */
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
      log.error({ request, problem: problem.message, entry: only }, 'the store refused the intent of a request');
    } else if (
      await setAsideRecord(
        { store, log },
        { id: request, record: only.finished.row, problem: problem.message, now: clock.now() },
      )
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

  function begin(intent: Intent): Promise<void> {
    underWay.add(intent.id);
    return strict ? add((done) => waiting.begun.push({ intent, done }), flush) : Promise.resolve();
  }

  function end(id: string): void {
    underWay.delete(id);
    onEnded?.();
  }

  /** Resolves when a request ends. */
  function nextEnd(): Promise<void> {
    return new Promise((resolve) => {
      onEnded = resolve;
    });
  }

  function finish(intent: Intent, completion: Completion): Promise<void> {
    end(intent.id);
    if (!strict && size() >= capacity) {
      lost += 1;
      return Promise.resolve();
    }
    last = add((done) => waiting.finished.push({ intent, completion, done }), strict ? flush : flushSoon);
    return strict ? last : Promise.resolve();
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
    // The store has them.
    open: () => [],
    begin,
    finish,
    beginThen: (intent, onDurable) => void begin(intent).then(onDurable),
    finishThen: (intent, completion, onDurable) => void finish(intent, completion).then(onDurable),
    withdraw(intent) {
      end(intent.id);
      if (!strict) return;
      waiting.withdrawn.push({ id: intent.id, started_at: intent.startedAt });
      flush();
    },
    flushed() {
      if (size() > 0) flush();
      return last;
    },
    async close(timeoutMs) {
      const late = new AbortController();
      const timedOut = sleep(clock, timeoutMs, closing.signal, IN_BACKGROUND).then(() => late.abort());
      while ((running || size() > 0 || underWay.size > 0) && !late.signal.aborted) {
        if (size() > 0) flush();
        await Promise.race([running ?? nextEnd(), timedOut]);
      }
      closing.abort();
    },
  };
}

function release({ begun, finished }: PendingBatch): void {
  for (const { done } of [...begun, ...finished]) done();
}
