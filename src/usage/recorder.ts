/**
 * Usage recorder with group commit: groups are written one at a time, and records that arrive meanwhile share the next one. In
 * strict durability a group is written down as one row, and once a second the groups are folded into the tables of records and
 * the sums. A write is retried while the store is unavailable; meanwhile callers are released and no new request should begin.
 */

import type { Logger } from 'pino';
import { type Clock, sleep, systemClock } from '../core/clock.ts';
import { type Linked, LinkedList } from '../core/linked-list.ts';
import type { Store } from '../store/store.ts';
import { emptyBatch, flushOf, groupOf, type PendingBatch, sizeOf } from './flush.ts';
import { createFlushWriter } from './flush-writer.ts';
import { createGroupTransfer } from './group-transfer.ts';
import { BATCH_DELAY_MS, type Completion, type Intent, MAX_PENDING_RECORDS, UNWRITTEN_AT_END } from './record.ts';

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
  /** Withdraws the intent of a request that was not sent. */
  withdraw(intent: Intent): void;
  /** Resolves when the record is durable; immediately if batched. `intent`: the object with which the request began. */
  finish(intent: Intent, completion: Completion): Promise<void>;
  /** Resolves when all records finished so far are written, or the store is unavailable. */
  flushed(): Promise<void>;
  /** Whether records wait because they cannot be written at the moment. */
  isFailing(): boolean;
  /** Instance whose intents are in the store, all of them among those of `open`; undefined if they are in a journal. */
  readonly instance?: string | undefined;
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

/** A request that has begun and not ended. */
interface OpenEntry extends Linked<OpenEntry> {
  intent: Intent;
}

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
  const closing = new AbortController();
  let turns = 0;
  let lost = 0;
  /** Requests that have begun and not ended: their clients may be gone, and nobody else waits for them. */
  const underWay = new LinkedList<OpenEntry>();
  let onEnded: (() => void) | undefined;
  /** The batch that is being written. */
  let written: PendingBatch | undefined;

  const writer = createFlushWriter({ store, log, clock, closing: closing.signal, onDelay: releaseAll });
  const transfer = createGroupTransfer({ instance, writer, clock, closing: closing.signal });

  const size = () => sizeOf(waiting);

  function releaseAll(): void {
    if (written) release(written);
    release(waiting);
    transfer.release();
  }

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
    written = batch;
    waiting = emptyBatch();
    if (strict) await note(batch);
    else await writer.write(flushOf(batch, onUnencodable), { turn: { instance, number: ++turns } });
    release(batch);
    written = undefined;
  }

  async function note(batch: PendingBatch): Promise<void> {
    const group = { number: turns + 1, records: groupOf(batch, onUnencodable), size: sizeOf(batch) };
    const { number, records } = group;
    try {
      if (!(await writer.retry(() => store.call('noteUsageGroup', { instance, number, records })))) return;
      turns = number;
      transfer.add(group);
    } catch (error) {
      // Its records go into the tables before anyone is released; there each is written or set aside by itself.
      log.error({ problem: (error as Error).message }, 'the store refused a group of usage records as one row');
      transfer.add({ ...group, isRefused: true });
      await transfer.flushed();
    }
  }

  function onUnencodable(id: string, error: Error): void {
    lost += 1;
    log.error({ request: id, problem: error.message }, 'a usage record could not be encoded');
  }

  function add(put: (done: () => void) => void, soon: () => void): Promise<void> {
    return new Promise((resolve) => {
      put(resolve);
      if (writer.failing) resolve();
      if (!running) soon();
    });
  }

  function begin(intent: Intent): Promise<void> {
    const entry = { intent, previous: undefined, next: undefined };
    intent.entry = entry;
    underWay.add(entry);
    return strict ? add((done) => waiting.begun.push({ intent, done }), flush) : Promise.resolve();
  }

  function end(intent: Intent): void {
    if (intent.entry) underWay.delete(intent.entry as OpenEntry);
    intent.entry = undefined;
    onEnded?.();
  }

  /** Resolves when a request ends. */
  function nextEnd(): Promise<void> {
    return new Promise((resolve) => {
      onEnded = resolve;
    });
  }

  function finish(intent: Intent, completion: Completion): Promise<void> {
    end(intent);
    if (!strict && size() >= capacity) {
      lost += 1;
      return Promise.resolve();
    }
    last = add((done) => waiting.finished.push({ intent, completion, done }), strict ? flush : flushSoon);
    return strict ? last : Promise.resolve();
  }

  return {
    get ready() {
      return !strict || (!writer.failing && size() + transfer.waiting < capacity);
    },
    get waiting() {
      return size();
    },
    get lost() {
      return lost + writer.lost;
    },
    get refused() {
      return writer.refused;
    },
    instance,
    isFailing: () => writer.failing,
    open: () => [...underWay].map(({ intent }) => intent),
    begin,
    finish,
    withdraw(intent) {
      end(intent);
      if (!strict) return;
      waiting.withdrawn.push({ id: intent.id, started_at: intent.startedAt });
      flush();
    },
    async flushed() {
      if (size() > 0) flush();
      await last;
      await transfer.flushed();
    },
    async close(timeoutMs) {
      const late = new AbortController();
      // A start that fails has nothing else left that keeps the process.
      const timedOut = sleep(clock, timeoutMs, closing.signal).then(() => late.abort());
      while ((running || size() > 0 || underWay.size > 0 || transfer.waiting > 0) && !late.signal.aborted) {
        if (size() > 0) flush();
        await Promise.race([running ?? transfer.progress() ?? nextEnd(), timedOut]);
      }
      closing.abort();
      const records = waiting.finished.length + (written?.finished.length ?? 0);
      if (records > 0) log.error({ records }, UNWRITTEN_AT_END);
    },
  };
}

function release({ begun, finished }: PendingBatch): void {
  for (const { done } of [...begun, ...finished]) done();
}
