/**
 * Usage recorder on a journal: intents and records are durable in the journal of this process, and the records follow into the
 * store once a second. While either is unavailable, callers are released and no new request should begin.
 */

import type { Logger } from 'pino';
import { type Clock, sleep, systemClock } from '../core/clock.ts';
import { LinkedList } from '../core/linked-list.ts';
import type { Store } from '../store/store.ts';
import { type JournalDisk, nodeDisk } from './journal/disk.ts';
import { type JournalFolder, takeAbandonedFolders, takeJournalFolder } from './journal/folder.ts';
import { MIN_SEGMENT_BYTES, RECORD_KINDS, SEGMENT_BYTES } from './journal/format.ts';
import { createJournal } from './journal/journal.ts';
import {
  createRecord,
  type RecordContent,
  type RecorderRecord,
  release,
  takeBegin,
} from './journal/recorder-record.ts';
import { decodeBegin, encodeBegin, encodeEnd, encodeInterrupted, encodeWithdrawn } from './journal/records.ts';
import { createStoreWriter } from './journal/store-writer.ts';
import { removeUnfinished, replayJournal, surveyJournal } from './journal/survey.ts';
import { BATCH_DELAY_MS, type Completion, type Intent, MAX_PENDING_RECORDS, UNWRITTEN_AT_END } from './record.ts';
import type { Recorder } from './recorder.ts';

export interface JournalRecorderOptions {
  store: Pick<Store, 'call' | 'engine' | 'now'>;
  /** Folder of the journals of all processes. */
  root: string;
  /** `batched` writes no intents, and callers do not wait. */
  durability: 'strict' | 'batched';
  log: Logger;
  /** Limit of records that wait for the journal or the store. */
  capacity?: number;
  disk?: JournalDisk | undefined;
  clock?: Clock;
  segmentBytes?: number;
}

/** Time of a write after which the disk counts as stalled. On a busy machine a write may take a second. */
const STALL_MS = 2_000;
/** Segments behind the current one after which the begin of an open request is written again. */
const MAX_SEGMENT_AGE = 4;

/** Takes a journal, and stores the records left by its earlier processes and by others that are gone. Throws `StoreUnavailable`. */
export async function openJournalRecorder(options: JournalRecorderOptions): Promise<Recorder> {
  const recorder = await openJournalIn(takeJournalFolder(options.root), options);
  try {
    await recoverAbandonedJournals(options);
  } catch (error) {
    await recorder.close(0);
    throw error;
  }
  return recorder;
}

/** Stores the records that other processes left in their journals in the same folder. */
export async function recoverAbandonedJournals(options: JournalRecorderOptions): Promise<void> {
  for (const folder of takeAbandonedFolders(options.root)) {
    await (await openJournalIn(folder, options)).close(0);
  }
}

/** Releases the folder if that fails, so that it can be tried again. */
async function openJournalIn(folder: JournalFolder, options: JournalRecorderOptions): Promise<Recorder> {
  try {
    return await openRecorderIn(folder, options);
  } catch (error) {
    folder.release();
    throw error;
  }
}

async function openRecorderIn(folder: JournalFolder, options: JournalRecorderOptions): Promise<Recorder> {
  const { store, durability, log, capacity = MAX_PENDING_RECORDS, disk = nodeDisk } = options;
  const { segmentBytes = SEGMENT_BYTES, clock = systemClock } = options;
  const strict = durability === 'strict';
  const survey = surveyJournal(folder.path, Math.min(segmentBytes, MIN_SEGMENT_BYTES));
  const position = await store.call('journalPosition', { journal: survey.id });
  const firstNeeded = position?.oldest ?? survey.segments[0]?.sequence ?? 1;
  /** Begins that a recovery may need, until the ends of their requests are durable. */
  const open = new LinkedList<RecorderRecord>();
  let recovering = true;
  let journalFailing = false;
  let lost = 0;
  /** Called when a request ended or a record became durable, for the recorder that closes. */
  let onChange: (() => void) | undefined;

  const writer = createStoreWriter({
    store,
    journal: survey.id,
    clock,
    log,
    oldestNeeded(segment) {
      if (recovering) return firstNeeded;
      let oldest = segment;
      // In no order, as some are written again. Those that are not durable yet come into this segment or a later one.
      for (const begin of open) oldest = Math.min(oldest, begin.segment || segment);
      return oldest;
    },
    onStored(oldest) {
      onChange?.();
      if (recovering) return;
      journal.releaseBefore(oldest);
      carryBegins(MAX_SEGMENT_AGE);
    },
  });

  const flushStore = () => new Promise<void>((resolve) => writer.flush(resolve));
  const { open: left, next } = await replayJournal(survey, position, {
    onEnd({ payload, segment, offset }) {
      writer.add({ payload, segment, end: offset });
      return writer.waiting >= capacity ? flushStore() : undefined;
    },
    onLoss({ segments, bytes }) {
      const loss = { folder: folder.path, segments, bytes };
      log.error(loss, 'a part of the journal is missing or damaged: the usage records in it are lost');
    },
  });

  const journal = createJournal<RecorderRecord>({
    disk,
    clock,
    folder: folder.path,
    segmentBytes,
    sync: strict,
    files: removeUnfinished(survey, firstNeeded),
    id: survey.id,
    next,
    groupDelayMs: strict ? 0 : BATCH_DELAY_MS,
    onDeleted() {
      folder.restore();
      log.error({ folder: folder.path }, 'files of the journal were deleted; it goes on in new ones');
      carryBegins(0);
    },
    onFailure(error) {
      if (!journalFailing)
        log.error({ problem: error.message }, 'the journal of usage records cannot be written; retrying');
      journalFailing = true;
      journal.forEachWaiting(release);
    },
    onRecovered() {
      journalFailing = false;
      onChange?.();
      log.info('the journal of usage records is written again');
    },
  });
  for (const { sequence, name } of survey.segments) if (sequence >= firstNeeded) journal.keep(sequence, name);

  function onBeginDurable(this: RecorderRecord): void {
    release(this);
    onChange?.();
  }

  function onCarriedDurable(this: RecorderRecord): void {
    const { begin } = this;
    if (!begin) return;
    begin.segment = this.segment;
    begin.carried = false;
  }

  function onEndDurable(this: RecorderRecord): void {
    forget(this.begin);
    writer.add(this);
    release(this);
  }

  /** Writes the begins of requests that have been open for so many segments again, so that these can be used again. */
  function carryBegins(minAge: number): void {
    const limit = journal.position.segment - minAge;
    for (const begin of open) {
      const { id, payload, segment, ended, carried } = begin;
      if (segment > limit || segment === 0 || ended || carried) continue;
      begin.carried = true;
      journal.append(createRecord('begin', { id, payload, begin }, onCarriedDurable));
    }
  }

  function forget(begin: RecorderRecord | undefined): void {
    if (begin) open.delete(begin);
    onChange?.();
  }

  function append(record: RecorderRecord): void {
    journal.append(record);
    if (isFailing()) release(record);
  }

  function begin(intent: Intent, onDurable: () => void): void {
    const payload = strict ? encodeBegin(intent) : '';
    const record = createRecord('begin', { id: intent.id, payload }, onBeginDurable, onDurable);
    intent.entry = record;
    open.add(record);
    if (strict) append(record);
    else release(record);
  }

  function end(content: RecordContent, onDurable?: () => void): void {
    if (content.begin) content.begin.ended = true;
    const record = createRecord('end', content, onEndDurable, onDurable);
    append(record);
    if (!strict) release(record);
  }

  const isFailing = () => journalFailing || writer.failing;
  const pending = () => journal.waiting + writer.waiting;

  /** Undefined for a record that is lost. */
  function payloadOf(intent: Intent, completion: Completion): string | undefined {
    if (!strict && pending() >= capacity) return undefined;
    try {
      return encodeEnd(intent, completion);
    } catch (error) {
      log.error({ request: intent.id, problem: (error as Error).message }, 'a usage record could not be encoded');
      return undefined;
    }
  }

  function finish(intent: Intent, completion: Completion, onDurable: () => void): void {
    const payload = payloadOf(intent, completion);
    const begin = takeBegin(intent);
    if (payload !== undefined) end({ id: intent.id, payload, begin }, onDurable);
    else {
      forget(begin);
      lost += 1;
      onDurable();
    }
  }

  /** Settles when the records that wait for the journal and the store are stored, or either is unavailable. */
  async function flushed(): Promise<void> {
    if (pending() === 0) return;
    await new Promise<void>((resolve) => {
      if (journal.waiting === 0 || isFailing()) resolve();
      else append(createRecord('withdrawn', { id: '', payload: encodeWithdrawn('') }, onBeginDurable, resolve));
      journal.flush();
    });
    await flushStore();
  }

  const nextChange = () =>
    new Promise<void>((resolve) => {
      onChange = resolve;
    });

  for (const [id, { payload, segment }] of left) {
    open.add({ ...createRecord('begin', { id, payload }, onBeginDurable), segment });
  }
  recovering = false;
  for (const begin of open) end({ id: begin.id, payload: encodeInterrupted(begin.payload, store.now()), begin });
  if (left.size > 0) log.warn({ requests: left.size }, 'requests were interrupted by the end of a gateway');
  await flushed();

  return {
    get ready() {
      return !strict || (!isFailing() && pending() < capacity && !journal.isStalled(STALL_MS));
    },
    get waiting() {
      return journal.waiting + (writer.failing ? writer.waiting : 0);
    },
    get lost() {
      return lost + writer.lost;
    },
    get refused() {
      return writer.refused;
    },
    begin: (intent) => new Promise((resolve) => begin(intent, resolve)),
    finish: (intent, completion) => new Promise((resolve) => finish(intent, completion, resolve)),
    withdraw(intent) {
      forget(takeBegin(intent));
      const { id } = intent;
      if (strict) append(createRecord('withdrawn', { id, payload: encodeWithdrawn(id) }, onBeginDurable));
    },
    open: () => [...open].flatMap(({ payload, ended }) => (ended || payload === '' ? [] : [decodeBegin(payload)])),
    flushed,
    isFailing,
    async close(timeoutMs) {
      const late = new AbortController();
      const done = new AbortController();
      // A start that fails has nothing else left that keeps the process.
      const timedOut = sleep(clock, timeoutMs, done.signal).then(() => late.abort());
      await Promise.race([flushed(), timedOut]);
      while (timeoutMs > 0 && (pending() > 0 || open.size > 0) && !late.signal.aborted) {
        await Promise.race([nextChange(), timedOut]);
        await Promise.race([flushed(), timedOut]);
      }
      done.abort();
      let records = 0;
      journal.forEachWaiting(({ kind }) => {
        if (kind === RECORD_KINDS.end) records += 1;
      });
      if (records > 0) log.error({ records }, UNWRITTEN_AT_END);
      writer.close();
      await new Promise<void>((resolve) => journal.close(resolve));
      folder.release();
    },
  };
}
