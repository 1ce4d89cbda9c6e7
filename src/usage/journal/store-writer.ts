/** Transfer of durable records from the journal to the store: in batches, each in one transaction with its position. */

import type { Logger } from 'pino';
import { type Clock, sleep } from '../../core/clock.ts';
import type { JournalPosition } from '../../store/operations/usage-journal.ts';
import type { Store } from '../../store/store.ts';
import { StoreUnavailable, storeRetryDelay } from '../../store/unavailable.ts';
import { usageRowOf } from '../../store/usage-row.ts';
import { setAsideRecord } from '../refused-records.ts';
import { type EndedRecord, RecordQueue } from './record-queue.ts';
import { decodeEnd } from './records.ts';

export interface StoreWriterOptions {
  store: Pick<Store, 'call' | 'engine'>;
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
  /** Number of records that are not stored yet. */
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
/** Records of a batch that the store decodes and inserts at once: on PostgreSQL, each insertion is a round trip. */
const TEXT_SIZES = { sqlite: 64, postgres: 2000 };

/** Records of a queue from one index to before another. */
interface Batch {
  queue: RecordQueue;
  from: number;
  to: number;
}

interface Waiter {
  /** Number of stored records at which it is called. */
  stored: number;
  onFlushed(): void;
}

function textsOf({ queue, from, to }: Batch, size: number): string[] {
  const texts: string[] = [];
  for (let start = from; start < to; start += size) texts.push(queue.payloads(start, Math.min(to, start + size)));
  return texts;
}

export function createStoreWriter(options: StoreWriterOptions): StoreWriter {
  const { store, journal, clock, log, oldestNeeded, onStored } = options;
  let waiting = new RecordQueue();
  /** Empty, unless its records are being stored. */
  let spare = new RecordQueue();
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
      const queue = waiting;
      waiting = spare;
      spare = queue;
      await persistAll(queue);
      queue.clear();
    } while (!closing.signal.aborted && (waiters.length > 0 || waiting.length >= MAX_BATCH_SIZE));
    running = false;
    if (waiting.length > 0) schedule();
  }

  async function persistAll(queue: RecordQueue): Promise<void> {
    for (let from = 0; from < queue.length; from += MAX_BATCH_SIZE) {
      const to = Math.min(queue.length, from + MAX_BATCH_SIZE);
      await persist({ queue, from, to });
      if (closing.signal.aborted) return;
      stored += to - from;
      release();
    }
    release();
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
  async function persist(batch: Batch): Promise<void> {
    const position = positionAfter(batch.queue, batch.to - 1);
    const records = textsOf(batch, TEXT_SIZES[store.engine]);
    for (let failures = 1; ; failures++) {
      try {
        await store.call('storeJournalBatch', { journal, position, records });
        failing = false;
        onStored(position.oldest);
        return;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) return isolate(batch, error as Error);
        if (!failing) log.error({ problem: error.problem }, 'usage records cannot be written; retrying');
        failing = true;
        release();
        await sleep(clock, storeRetryDelay(failures), closing.signal, IN_BACKGROUND);
        if (closing.signal.aborted) return;
      }
    }
  }

  /** Bisects a refused batch until each refused record is isolated. */
  async function isolate({ queue, from, to }: Batch, problem: Error): Promise<void> {
    if (to - from > 1) {
      const middle = Math.ceil((from + to) / 2);
      await persist({ queue, from, to: middle });
      await persist({ queue, from: middle, to });
      return;
    }
    const row = usageRowOf(decodeEnd(queue.payloads(from, to)));
    if (await setAsideRecord({ store, log }, { id: row.id, record: row, problem: problem.message, now: clock.now() }))
      refused += 1;
    else lost += 1;
    await pass(queue, from);
  }

  /** Moves the position behind a record that was set aside, so that a recovery does not find it again. */
  async function pass(queue: RecordQueue, index: number): Promise<void> {
    const position = positionAfter(queue, index);
    await store.call('storeJournalBatch', { journal, position, records: [] }).catch(() => undefined);
  }

  function positionAfter(queue: RecordQueue, index: number): JournalPosition {
    const { segment, end } = queue.placeOf(index);
    return { segment, offset: end, oldest: oldestNeeded(segment) };
  }

  return {
    get waiting() {
      return added - stored;
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
