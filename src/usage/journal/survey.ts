/** Survey of a journal folder: its segments in their order, and the missing ones. */

import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { listSegmentNames, readSegmentFile } from './disk.ts';
import { HEADER_BYTES, type Position, RECORD_KINDS, readHeader, type SegmentHeader, scanSegment } from './format.ts';
import { readMarker } from './marker.ts';

interface FoundSegment extends SegmentHeader {
  name: string;
}

export interface JournalSurvey {
  folder: string;
  id: string;
  /** Names of all segment files. */
  names: string[];
  /** Names of those that were never used. */
  blank: string[];
  /** Used segments in their order. */
  segments: FoundSegment[];
  /** Number of the last segment that was written, whether or not it is there; 0 if unknown. */
  lastWritten: number;
  /** Names of segments of another journal. */
  foreign: string[];
}

/** Reads the headers of all segments. */
export function surveyJournal(folder: string, minSegmentBytes: number): JournalSurvey {
  const names = listSegmentNames(folder);
  const found = names.flatMap((name): FoundSegment[] => {
    const header = headerOf(join(folder, name));
    return header ? [{ ...header, name }] : [];
  });
  const newest = found.toSorted((one, other) => other.sequence - one.sequence)[0];
  const marker = readMarker(folder);
  const id = newest?.journal ?? marker?.journal ?? randomBytes(16).toString('hex');
  const segments = found
    .filter(({ journal }) => journal === id)
    .toSorted((one, other) => one.sequence - other.sequence);
  const foreign = found.filter(({ journal }) => journal !== id).map(({ name }) => name);
  const used = new Set(found.map(({ name }) => name));
  const sizeOf = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
  const blank = names.filter((name) => !used.has(name) && sizeOf(name) >= minSegmentBytes);
  const lastWritten = marker?.journal === id ? marker.sequence : 0;
  return { folder, id, names, blank, segments, foreign, lastWritten };
}

/** Undefined for a file that was never used, and for one that its gateway has just removed. */
export function headerOf(path: string): SegmentHeader | undefined {
  const bytes = Buffer.alloc(HEADER_BYTES);
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return readSync(fd, bytes) === HEADER_BYTES ? readHeader(bytes) : undefined;
  } finally {
    closeSync(fd);
  }
}

export interface StoredPosition extends Position {
  /** Sequence number of the first segment that is still needed. */
  oldest: number;
}

/** A record that a replay found. */
export interface FoundRecord extends Position {
  /** JSON. */
  payload: string;
}

export interface ReplayHandler {
  /** An `end` that is not in the store; awaited. */
  onEnd(record: FoundRecord): Promise<void> | undefined;
  /** Records are missing. */
  onLoss(loss: { segments: number[]; bytes: number }): void;
}

export interface Replay {
  /** Payloads of requests that have begun and not ended, by request id, with the segments that hold them. */
  open: Map<string, FoundRecord>;
  /** Position of the next record. */
  next: { sequence: number; previousEnd: number };
}

/** Reads all records that are needed: begins from the oldest segment on, ends after the stored position. */
export async function replayJournal(
  { folder, segments, lastWritten }: JournalSurvey,
  stored: StoredPosition | undefined,
  { onEnd, onLoss }: ReplayHandler,
): Promise<Replay> {
  const first = stored?.oldest ?? segments[0]?.sequence ?? Math.max(1, lastWritten);
  const needed = segments.filter(({ sequence }) => sequence >= first);
  const last = Math.max(needed.at(-1)?.sequence ?? first - 1, stored?.segment ?? 0, lastWritten);
  const present = new Map(needed.map((segment) => [segment.sequence, segment]));
  const missing: number[] = [];
  const open: Replay['open'] = new Map();
  let damagedBytes = 0;
  let previousEnd = HEADER_BYTES;
  for (let sequence = first; sequence <= last; sequence++) {
    const segment = present.get(sequence);
    if (!segment) {
      // A position at the very start of a segment is stored before its file is written.
      if (!(stored && sequence === stored.segment && stored.offset <= HEADER_BYTES)) missing.push(sequence);
      continue;
    }
    const ends: FoundRecord[] = [];
    const end = present.get(sequence + 1)?.previousEnd;
    const scanned = scanSegment(
      readSegmentFile(folder, segment.name),
      { seed: segment.seed, ...(end === undefined ? {} : { end }) },
      (kind, bytes, offset) => {
        const record = { payload: bytes.toString('utf8'), segment: sequence, offset };
        const id = idOf(record.payload);
        // In the order of their segments, also where a begin was written again.
        open.delete(id);
        if (kind === RECORD_KINDS.begin) open.set(id, record);
        if (kind === RECORD_KINDS.end && isAfter(record, stored)) ends.push(record);
      },
    );
    for (const record of ends) await onEnd(record);
    damagedBytes += scanned.damaged;
    previousEnd = scanned.end;
    if (end === undefined && stored?.segment === sequence && scanned.end < stored.offset) {
      damagedBytes += stored.offset - scanned.end;
    }
  }
  if (missing.length > 0 || damagedBytes > 0) onLoss({ segments: missing, bytes: damagedBytes });
  return { open, next: { sequence: last + 1, previousEnd } };
}

function isAfter({ segment, offset }: Position, stored: Position | undefined): boolean {
  if (!stored) return true;
  return segment > stored.segment || (segment === stored.segment && offset > stored.offset);
}

/** The first element of a payload, as it is written. */
function idOf(payload: string): string {
  return payload.slice(2, payload.indexOf('"', 2));
}

/** Removes files that were not made whole. Returns the others, and those of them whose records are no longer needed. */
export function removeUnfinished(
  { folder, names, blank, segments, foreign }: JournalSurvey,
  firstNeeded: number,
): { names: string[]; free: string[] } {
  const whole = new Set([...blank, ...foreign, ...segments.map(({ name }) => name)]);
  for (const name of names) if (!whole.has(name)) rmSync(join(folder, name), { force: true });
  const over = segments.filter(({ sequence }) => sequence < firstNeeded);
  return { names, free: [...blank, ...over.map(({ name }) => name)] };
}
