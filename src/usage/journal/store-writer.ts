/** Transfer of durable records from the journal to the store: in batches, each in one transaction with its position. */

import type { Logger } from 'pino';
import { type Clock, sleep } from '../../core/clock.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailable } from '../../store/unavailable.ts';
import { usageRowOf } from '../../store/usage-row.ts';
import { setAsideRecord } from '../refused-records.ts';
import { decodeEnd } from './records.ts';

/** A durable record of a request that ended, and its place in the journal. */
export interface EndedRecord {
  /** JSON. */
  payload: string;
  segment: number;
  end: number;
}

export interface StoreWriterOptions {
  store: Pick<Store, 'call'>;
  /** Id of the journal. */
  journal: string;
  clock: Pick<Clock, 'now' | 'after'>;
  log: Pick<Logger, 'error'>;
  /** First segment whose records are needed once those before `segment` are stored. */
  oldestNeeded(segment: number): number;
  /** Records before this segment are no longer needed. */
  onStored(oldest: number): void;
}

export interface StoreWriter {
  /** Adds a record; records are added in the order of the journal. */
  add(record: EndedRecord): void;
  /** Calls back when all records added so far are stored or set aside, or the store is unavailable. */
  flush(onFlushed: () => void): void;
  readonly waiting: number;
  readonly failing: boolean;
  readonly refused: number;
  readonly lost: number;
  /** Gives up retries. */
  close(): void;
}

/** Time for which a record waits for others. */
const STORE_INTERVAL_MS = 1_000;
const IN_BACKGROUND = { background: true };
const MAX_BATCH_SIZE = 5_000;
const MIN_RETRY_DELAY_MS = 100;
const MAX_RETRY_DELAY_MS = 5_000;

interface Waiter {
  /** Number of stored records at which it is called. */
  stored: number;
  onFlushed(): void;
}

export function createStoreWriter(options: StoreWriterOptions): StoreWriter {
  const { store, journal, clock, log, oldestNeeded, onStored } = options;
  let waiting: EndedRecord[] = [];
  let waiters: Waiter[] = [];
  let added = 0;
  let stored = 0;
  let running = false;
  let cancelTimer: (() => void) | undefined;
  let failing = false;
  const closing = new AbortController();
  let refused = 0;
  let lost = 0;

  async function run(): Promise<void> {
    cancelTimer?.();
    cancelTimer = undefined;
    if (running || closing.signal.aborted) return;
    running = true;
    do {
      const batch = waiting.slice(0, MAX_BATCH_SIZE);
      if (batch.length > 0) await persist(batch);
      if (closing.signal.aborted) break;
      waiting = waiting.slice(batch.length);
      stored += batch.length;
      release();
    } while (waiters.length > 0 || waiting.length >= MAX_BATCH_SIZE);
    running = false;
    if (waiting.length > 0) schedule();
  }

  function schedule(): void {
    cancelTimer ??= clock.after(STORE_INTERVAL_MS, run, IN_BACKGROUND);
  }

  function release(): void {
    const done = waiters.filter((waiter) => failing || waiter.stored <= stored);
    waiters = waiters.filter((waiter) => !failing && waiter.stored > stored);
    for (const { onFlushed } of done) onFlushed();
  }

  /** Settles when the records are stored or set aside, or at the end. */
  async function persist(batch: readonly EndedRecord[]): Promise<void> {
    const last = batch.at(-1) as EndedRecord;
    const oldest = oldestNeeded(last.segment);
    const position = { segment: last.segment, offset: last.end, oldest };
    const records = batch.map(({ payload }) => payload).join(',');
    for (let delayMs = MIN_RETRY_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RETRY_DELAY_MS)) {
      try {
        await store.call('storeJournalBatch', { journal, position, records });
        failing = false;
        onStored(oldest);
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) return isolate(batch, error as Error);
        if (!failing) log.error({ problem: error.problem }, 'usage records cannot be written; retrying');
        failing = true;
        release();
        await sleep(clock, delayMs, closing.signal, IN_BACKGROUND);
        if (closing.signal.aborted) return;
      }
    }
  }

  /** Bisects a refused batch until each refused record is isolated. */
  async function isolate(batch: readonly EndedRecord[], problem: Error): Promise<void> {
    const [only] = batch;
    if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2);
      for (const part of [batch.slice(0, half), batch.slice(half)]) await persist(part);
    } else if (only) {
      const row = usageRowOf(decodeEnd(only.payload));
      if (await setAsideRecord({ store, log }, { id: row.id, record: row, problem: problem.message, now: clock.now() }))
        refused += 1;
      else lost += 1;
      await pass(only);
    }
  }

  /** Moves the position behind a record that was set aside, so that a recovery does not find it again. */
  async function pass({ segment, end }: EndedRecord): Promise<void> {
    const position = { segment, offset: end, oldest: oldestNeeded(segment) };
    await store.call('storeJournalBatch', { journal, position, records: '' }).catch(() => undefined);
  }

  return {
    get waiting() {
      return waiting.length;
    },
    get failing() {
      return failing;
    },
    get refused() {
      return refused;
    },
    get lost() {
      return lost;
    },
    add(record) {
      waiting.push(record);
      added += 1;
      if (waiting.length === MAX_BATCH_SIZE) void run();
      else if (!cancelTimer && !running) schedule();
    },
    flush(onFlushed) {
      if (failing || stored >= added) {
        onFlushed();
        return;
      }
      waiters.push({ stored: added, onFlushed });
      void run();
    },
    close() {
      closing.abort();
      cancelTimer?.();
    },
  };
}
