/**
 * Append-only journal of one process. One write is under way at a time; records that arrive meanwhile form the next group. A
 * write that fails is repeated until it succeeds.
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { JournalDisk } from './disk.ts';
import {
  emptyGroup,
  type Group,
  HEADER_BYTES,
  MAX_PAYLOAD_BYTES,
  MIN_BUFFER_BYTES,
  maxRecordBytes,
  type Position,
  type RecordKind,
  recordBytesAt,
  sealRecord,
  writeHeader,
  writeRecord,
} from './format.ts';
import { writeMarker } from './marker.ts';
import { createSegmentPool, MAX_RETRY_DELAY_MS, MIN_RETRY_DELAY_MS, type SegmentFile } from './segments.ts';

export interface JournalOptions {
  disk: JournalDisk;
  clock: Pick<Clock, 'monotonic' | 'after'>;
  folder: string;
  segmentBytes: number;
  /** Whether a finished write must survive a power cut. */
  sync: boolean;
  /** All segment files, and those of them without records that are needed. */
  files: { names: readonly string[]; free: readonly string[] };
  /** Id of the journal, 32 hexadecimal digits. */
  id: string;
  /** Sequence number of the first segment to write, and where the one before it ends. */
  next: { sequence: number; previousEnd: number };
  /** Longest wait of a record for others, in milliseconds; 0 writes at once. */
  groupDelayMs: number;
  /** The files were deleted: makes their folder again, or throws, and writes again what a recovery may need. */
  onDeleted(): void;
  /** A write failed, or works again. Records wait meanwhile. */
  onFailure(error: Error): void;
  onRecovered(): void;
}

export interface JournalRecord {
  kind: RecordKind;
  /** JSON. */
  payload: string;
  /** Place of its end, set before it is written. */
  segment: number;
  end: number;
  /** Called when the record is durable. */
  onDurable(): void;
}

export interface Journal<Entry extends JournalRecord = JournalRecord> {
  readonly id: string;
  append(record: Entry): void;
  /** End of the durable records. */
  readonly position: Position;
  /** Writes the records that wait, without a delay. */
  flush(): void;
  /** Whether a group has been written for longer than `stallMs`. */
  isStalled(stallMs: number): boolean;
  /** Number of records that are not durable. */
  readonly waiting: number;
  /** Visits the records that are not durable. */
  forEachWaiting(visit: (record: Entry) => void): void;
  /** Allows the reuse of segments before a sequence number. */
  releaseBefore(sequence: number): void;
  /** Registers a used segment, so that it can be released. */
  keep(sequence: number, name: string): void;
  /** Ends when nothing is under way; records that wait are given up. */
  close(onClosed: () => void): void;
}

export function createJournal<Entry extends JournalRecord>(options: JournalOptions): Journal<Entry> {
  const { disk, clock, folder, segmentBytes, sync, id, groupDelayMs, onFailure, onRecovered } = options;
  const events = { onDeleted: options.onDeleted, onProblem: failedToMakeFile, onReady: hasFile };
  const pool = createSegmentPool({ disk, clock, folder, segmentBytes, sync, ...options.files, ...events });
  const files = new Map<number, string>();
  let sequence = options.next.sequence - 1;
  let previousEnd = options.next.previousEnd;
  let seed = 0;
  let file: SegmentFile | undefined;
  let offset = HEADER_BYTES;
  let durable: Position = { segment: options.next.sequence, offset: HEADER_BYTES };
  let waiting = emptyGroup<Entry>();
  let spare = emptyGroup<Entry>();
  let writing: Group<Entry> | undefined;
  let scheduled = false;
  let waitsForFile = false;
  let failing = false;
  let startedAt: number | undefined;
  let onIdle: (() => void) | undefined;
  let cancelRetry: (() => void) | undefined;

  /**
   * A group takes the records of this turn of the event loop and of the next: half as many writes under load. In an idle process,
   * the next turn follows at once.
   */
  function schedule(): void {
    if (scheduled || writing || waitsForFile) return;
    scheduled = true;
    if (groupDelayMs > 0) clock.after(groupDelayMs, flush, { background: true });
    else setImmediate(() => setImmediate(flush));
  }

  function flush(): void {
    scheduled = false;
    if (writing || waitsForFile || waiting.records.length === 0) return;
    startedAt ??= clock.monotonic();
    if (file && pool.areDeleted(file)) file.bytes = offset;
    const count = fittingRecords();
    if (count === 0) {
      rotate();
      return;
    }
    writing = takeGroup(count);
    const isFirst = offset === HEADER_BYTES;
    if (isFirst) writeHeader(writing.bytes, { journal: id, sequence, seed, previousEnd });
    let at = HEADER_BYTES;
    for (const record of writing.records) {
      sealRecord(writing.bytes, at, seed);
      at += recordBytesAt(writing.bytes, at);
      record.segment = sequence;
      record.end = offset + at - HEADER_BYTES;
    }
    write(writing, isFirst ? 0 : HEADER_BYTES, MIN_RETRY_DELAY_MS);
  }

  /** A file ahead of need can come later, unless there is none to write to. */
  function failedToMakeFile(error: Error): void {
    if (file && !waitsForFile) return;
    failing = true;
    onFailure(error);
  }

  function hasFile(): void {
    if (waitsForFile || !file) succeeded();
    waitsForFile = false;
  }

  function succeeded(): void {
    if (!failing) return;
    failing = false;
    onRecovered();
  }

  /** Number of waiting records that fit into the segment. */
  function fittingRecords(): number {
    if (!file) return 0;
    const room = file.bytes - offset;
    if (waiting.end - HEADER_BYTES <= room) return waiting.records.length;
    let count = 0;
    for (let at = HEADER_BYTES; at < waiting.end; count++) {
      at += recordBytesAt(waiting.bytes, at);
      if (at - HEADER_BYTES > room) break;
    }
    return count;
  }

  function takeGroup(count: number): Group<Entry> {
    const group = waiting;
    waiting = spare;
    waiting.end = HEADER_BYTES;
    waiting.records = [];
    if (count === group.records.length) return group;
    const rest = group.records.splice(count);
    let end = HEADER_BYTES;
    for (let index = 0; index < count; index++) end += recordBytesAt(group.bytes, end);
    reserve(group.end - end);
    group.bytes.copy(waiting.bytes, HEADER_BYTES, end, group.end);
    waiting.end = HEADER_BYTES + group.end - end;
    waiting.records = rest;
    group.end = end;
    return group;
  }

  function rotate(): void {
    const next = pool.take(flush);
    if (!next) {
      waitsForFile = true;
      return;
    }
    if (file) {
      previousEnd = offset;
      disk.close(file.fd, () => undefined);
    }
    file = next;
    sequence += 1;
    files.set(sequence, next.name);
    seed = randomBytes(4).readUInt32LE();
    offset = HEADER_BYTES;
    flush();
  }

  /** Writes a group from an offset in its bytes on. */
  function write(group: Group<Entry>, from: number, retryDelayMs: number): void {
    const current = file as SegmentFile;
    const at = offset - HEADER_BYTES + from;
    disk.write(current.fd, group.bytes, { from, length: group.end - from, at }, (error, written) => {
      if (error) return retry(error, group, from, retryDelayMs);
      if (from + written < group.end) return write(group, from + written, retryDelayMs);
      if (!current.needsSync) return finish(group);
      disk.sync(current.fd, (problem) => {
        // After a failed flush the pages may count as clean: the whole group is written again.
        if (problem) retry(problem, group, offset === HEADER_BYTES ? 0 : HEADER_BYTES, retryDelayMs);
        else finish(group);
      });
    });
  }

  function retry(error: Error, group: Group<Entry>, from: number, delayMs: number): void {
    failing = true;
    onFailure(error);
    const nextDelayMs = Math.min(2 * delayMs, MAX_RETRY_DELAY_MS);
    const again = () => {
      cancelRetry = undefined;
      write(group, from, nextDelayMs);
    };
    if (onIdle) onIdle();
    else cancelRetry = clock.after(delayMs, again, { background: true });
  }

  function finish(group: Group<Entry>): void {
    if (offset === HEADER_BYTES) writeMarker(disk, folder, { journal: id, sequence });
    offset += group.end - HEADER_BYTES;
    durable = { segment: sequence, offset };
    writing = undefined;
    startedAt = undefined;
    const { records } = group;
    spare = group.bytes.length > 64 * MIN_BUFFER_BYTES ? emptyGroup() : group;
    succeeded();
    if (waiting.records.length > 0) schedule();
    if (offset > (file as SegmentFile).bytes / 2) pool.prepare();
    for (const record of records) record.onDurable();
    // Writes scheduled for the end of this turn come before a close.
    if (groupDelayMs === 0 && onIdle) flush();
    if (!writing) onIdle?.();
  }

  function reserve(bytes: number): void {
    if (waiting.bytes.length - waiting.end >= bytes) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * waiting.bytes.length, waiting.end + bytes));
    waiting.bytes.copy(larger, HEADER_BYTES, HEADER_BYTES, waiting.end);
    waiting.bytes = larger;
  }

  pool.prepare();

  return {
    id,
    get position() {
      return durable;
    },
    flush,
    get waiting() {
      return waiting.records.length + (writing?.records.length ?? 0);
    },
    isStalled: (stallMs) => startedAt !== undefined && clock.monotonic() - startedAt > stallMs,
    append(record) {
      reserve(maxRecordBytes(record.payload));
      const length = writeRecord(waiting.bytes, waiting.end, record.kind, record.payload);
      if (length > Math.min(MAX_PAYLOAD_BYTES, segmentBytes - HEADER_BYTES))
        throw new RangeError('the record is too long for the journal');
      waiting.end += length;
      waiting.records.push(record);
      if (!scheduled && !writing && !waitsForFile) schedule();
    },
    forEachWaiting(visit) {
      for (const record of [...(writing?.records ?? []), ...waiting.records]) visit(record);
    },
    keep: (used, name) => files.set(used, name),
    releaseBefore(limit) {
      for (const [used, name] of files) {
        if (used >= limit || used === sequence) continue;
        files.delete(used);
        pool.release(name);
      }
    },
    close(onClosed) {
      const end = () => {
        onIdle = undefined;
        pool.close();
        if (file) disk.close(file.fd, onClosed);
        else onClosed();
        file = undefined;
      };
      cancelRetry?.();
      flush();
      if (writing && !cancelRetry) onIdle = end;
      else end();
    },
  };
}
