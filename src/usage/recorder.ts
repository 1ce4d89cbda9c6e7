/**
 * Writes records of use in flushes, one at a time: what comes while the disk is busy shares the next one. A flush that
 * fails is tried again until it is done. Meanwhile nobody waits for it, and nothing new should begin.
 */

import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import { type Completion, completedRow, type Intent, intendedRow } from './record.ts';

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
  written(): Promise<void>;
  /** Records that are to be written. */
  readonly waiting: number;
  /** Records that could not be kept. */
  readonly lost: number;
  /** Writes what waits, for as long as `patience` milliseconds. */
  close(patience: number): Promise<void>;
}

interface Begun {
  intent: Intent;
  done(): void;
}

interface Finished extends Begun {
  completion: Completion;
}

interface Batch {
  begun: Begun[];
  finished: Finished[];
  /** Ids of intents that came to nothing. */
  withdrawn: string[];
}

const CAPACITY = 20_000;
/** Milliseconds that a record may wait for others where nobody waits for it. */
const GATHERING = 50;
/** Milliseconds between two tries, doubling up to the second. */
const PAUSE = 100;
const LONGEST_PAUSE = 5_000;

export function createRecorder({ store, instance, durability, log, capacity = CAPACITY }: RecorderOptions): Recorder {
  const strict = durability === 'strict';
  let waiting = emptyBatch();
  let running: Promise<void> | undefined;
  let gathering: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  let failing = false;
  let closing = false;
  let lost = 0;

  const size = () => waiting.begun.length + waiting.finished.length + waiting.withdrawn.length;

  function flush(): void {
    clearTimeout(gathering);
    gathering = undefined;
    running ??= run().finally(() => {
      running = undefined;
      if (size() === 0 || closing) return;
      if (strict) flush();
      else flushSoon();
    });
  }

  function flushSoon(): void {
    gathering ??= setTimeout(flush, GATHERING).unref();
  }

  async function run(): Promise<void> {
    // Everything of this turn of the loop goes along.
    await Promise.resolve();
    const batch = waiting;
    waiting = emptyBatch();
    const written = rowsOf(batch, { instance, strict });
    for (let pause = PAUSE; !(await write(written)); pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      release(batch);
      release(waiting);
      if (closing) return;
      await new Promise((resolve) => setTimeout(resolve, pause).unref());
    }
    release(batch);
  }

  async function write(rows: ReturnType<typeof rowsOf>): Promise<boolean> {
    try {
      await store.call('recordUsage', rows);
      failing = false;
    } catch (error) {
      if (!failing) log.error({ problem: (error as Error).message }, 'use cannot be recorded for now');
      failing = true;
    }
    return !failing;
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
    begin(intent) {
      return strict ? add((done) => waiting.begun.push({ intent, done }), flush) : Promise.resolve();
    },
    withdraw(intent) {
      if (!strict) return;
      waiting.withdrawn.push(intent.id);
      flush();
    },
    finish(intent, completion) {
      if (!strict && size() >= capacity) {
        lost += 1;
        return Promise.resolve();
      }
      last = add((done) => waiting.finished.push({ intent, completion, done }), strict ? flush : flushSoon);
      return strict ? last : Promise.resolve();
    },
    written() {
      if (size() > 0) flush();
      return last;
    },
    async close(patience) {
      const enough = new Promise<void>((resolve) => setTimeout(resolve, patience).unref());
      let late = false;
      while ((running || size() > 0) && !late) {
        flush();
        late = (await Promise.race([running?.then(() => false), enough.then(() => true)])) === true;
      }
      closing = true;
    },
  };
}

function release({ begun, finished }: Batch): void {
  for (const { done } of [...begun, ...finished]) done();
}

function emptyBatch(): Batch {
  return { begun: [], finished: [], withdrawn: [] };
}

/** What has begun and ended within one flush needs no intent. */
function rowsOf({ begun, finished, withdrawn }: Batch, { instance, strict }: { instance: string; strict: boolean }) {
  const ended = new Set([...finished.map(({ intent }) => intent.id), ...withdrawn]);
  const inOneFlush = new Set(begun.filter(({ intent }) => ended.has(intent.id)).map(({ intent }) => intent.id));
  return {
    withdrawn,
    begun: begun.filter(({ intent }) => !inOneFlush.has(intent.id)).map(({ intent }) => begunRow(intent, instance)),
    finished: finished.map(({ intent, completion }) => ({
      row: completedRow(intent, completion),
      begun: strict && !inOneFlush.has(intent.id),
    })),
  };
}

function begunRow(intent: Intent, instance: string) {
  const row = intendedRow(intent);
  const record = JSON.stringify({ ...row, cost: String(row.cost) });
  return { id: intent.id, instance, started_at: intent.startedAt, record };
}
