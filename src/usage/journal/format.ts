/**
 * Bytes of the journal. A segment is a header and records; a record is its length, a CRC-32 and its kind, then a JSON array.
 * The CRC of each record starts from a number drawn for each use of a segment, so that remnants of an earlier use are invalid.
 */

import { crc32 } from 'node:zlib';

export const HEADER_BYTES = 64;
/** Bytes of a record before its payload. */
const RECORD_HEAD_BYTES = 9;
/** Longest payload; texts in records are bounded far below. */
export const MAX_PAYLOAD_BYTES = 64 * 1024;

/** Size of a file. */
export const SEGMENT_BYTES = 16 * 1024 * 1024;
/** Size of the smallest file that is used; a smaller one was not made whole. */
export const MIN_SEGMENT_BYTES = 1024 * 1024;

export const RECORD_KINDS = { begin: 1, end: 2, withdrawn: 3 } as const;
export type RecordKind = (typeof RECORD_KINDS)[keyof typeof RECORD_KINDS];

/** A place in the journal: an offset in the segment with a sequence number. */
export interface Position {
  segment: number;
  offset: number;
}

export interface SegmentHeader {
  /** Id of the journal, 32 hexadecimal digits. */
  journal: string;
  /** Number of the segment; the next one has the next number. */
  sequence: number;
  /** Start of the CRCs of the records. */
  seed: number;
  /** End offset of the records in the previous segment. */
  previousEnd: number;
}

const MAGIC = Buffer.from('PGUSAGE1', 'latin1');
const CRC_OFFSET = 8;
const JOURNAL_OFFSET = 12;
const SEQUENCE_OFFSET = 28;
const SEED_OFFSET = 32;
const PREVIOUS_END_OFFSET = 36;

export function writeHeader(into: Buffer, { journal, sequence, seed, previousEnd }: SegmentHeader): void {
  into.fill(0, 0, HEADER_BYTES);
  MAGIC.copy(into);
  into.write(journal, JOURNAL_OFFSET, 'hex');
  into.writeUInt32LE(sequence, SEQUENCE_OFFSET);
  into.writeUInt32LE(seed, SEED_OFFSET);
  into.writeUInt32LE(previousEnd, PREVIOUS_END_OFFSET);
  into.writeUInt32LE(crc32(into.subarray(JOURNAL_OFFSET, HEADER_BYTES)), CRC_OFFSET);
}

/** Undefined for a segment that was never used, or whose header is damaged. */
export function readHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  if (crc32(bytes.subarray(JOURNAL_OFFSET, HEADER_BYTES)) !== bytes.readUInt32LE(CRC_OFFSET)) return undefined;
  return {
    journal: bytes.toString('hex', JOURNAL_OFFSET, SEQUENCE_OFFSET),
    sequence: bytes.readUInt32LE(SEQUENCE_OFFSET),
    seed: bytes.readUInt32LE(SEED_OFFSET),
    previousEnd: bytes.readUInt32LE(PREVIOUS_END_OFFSET),
  };
}

/** Writes a record without its CRC, which `sealRecord` adds; returns its length. There must be room for three bytes a character. */
export function writeRecord(into: Buffer, offset: number, kind: RecordKind, payload: string): number {
  const length = into.write(payload, offset + RECORD_HEAD_BYTES, 'utf8');
  into.writeUInt32LE(length, offset);
  into[offset + 8] = kind;
  return RECORD_HEAD_BYTES + length;
}

/** Upper bound of the size in bytes: a UTF-16 unit takes at most 3 bytes in UTF-8. */
export function maxRecordBytes(payload: string): number {
  return RECORD_HEAD_BYTES + 3 * payload.length;
}

/** Size in bytes, head included, of the record at an offset. */
export function recordBytesAt(bytes: Buffer, offset: number): number {
  return RECORD_HEAD_BYTES + bytes.readUInt32LE(offset);
}

/** Adds the CRC, which depends on the segment. */
export function sealRecord(bytes: Buffer, offset: number, seed: number): void {
  bytes.writeUInt32LE(crcOf(bytes, offset, bytes.readUInt32LE(offset), seed), offset + 4);
}

function crcOf(bytes: Buffer, offset: number, length: number, seed: number): number {
  return crc32(bytes.subarray(offset + 8, offset + RECORD_HEAD_BYTES + length), seed);
}

/** Whether a valid record begins at an offset. */
function isRecord(bytes: Buffer, offset: number, seed: number, limit: number): boolean {
  if (offset + RECORD_HEAD_BYTES > limit) return false;
  const length = bytes.readUInt32LE(offset);
  if (length === 0 || length > MAX_PAYLOAD_BYTES || offset + RECORD_HEAD_BYTES + length > limit) return false;
  return bytes.readUInt32LE(offset + 4) === crcOf(bytes, offset, length, seed);
}

export type VisitRecord = (kind: number, payload: Buffer, end: number) => void;

export interface ScanOptions {
  seed: number;
  /** End offset of the records, if the next segment has it. Without it they end at the first invalid record: a torn tail. */
  end?: number;
}

export interface ScanResult {
  /** End offset of the last record. */
  end: number;
  /** Bytes before `end` that hold no valid record. */
  damaged: number;
}

/** Visits the records of a segment in their order. Damage amid records is skipped if their end is known. */
export function scanSegment(bytes: Buffer, { seed, end }: ScanOptions, visit: VisitRecord): ScanResult {
  const limit = Math.min(bytes.length, end ?? bytes.length);
  let offset = HEADER_BYTES;
  let damaged = 0;
  while (offset < limit) {
    if (isRecord(bytes, offset, seed, limit)) {
      const next = offset + recordBytesAt(bytes, offset);
      visit(bytes[offset + 8] as number, bytes.subarray(offset + RECORD_HEAD_BYTES, next), next);
      offset = next;
    } else if (end === undefined) break;
    else {
      damaged += 1;
      offset += 1;
    }
  }
  return { end: offset, damaged: end === undefined ? 0 : damaged + Math.max(0, end - limit) };
}

export const MIN_BUFFER_BYTES = 16 * 1024;

/** Records that are written together, encoded one after another behind room for a header. */
export interface Group<Entry> {
  bytes: Buffer;
  end: number;
  records: Entry[];
}

export function emptyGroup<Entry>(): Group<Entry> {
  return { bytes: Buffer.allocUnsafeSlow(MIN_BUFFER_BYTES), end: HEADER_BYTES, records: [] };
}
