/** Media store interface: storage of mirrored videos, local or S3. */

import type { Readable } from 'node:stream';
import type { MirroredFile } from '../../records/video-task.ts';

export interface ByteRange {
  start: number;
  /** Offset of the last byte, inclusive. */
  end: number;
}

export interface StoredFile {
  /** Name as in `MirroredFile.file`, without the scheme. */
  name: string;
  /** Unix milliseconds. */
  modifiedAt: number;
}

/** Names are `videos/{task id}/{index}-{first 16 digits of the hash}.{extension}`. */
export interface MediaStore {
  /** Stores the file durably. Idempotent. May move the file at `path`. */
  put(path: string, name: string, kept: MirroredFile, signal: AbortSignal): Promise<void>;
  /** Whether the file exists and has the size in bytes. */
  exists(name: string, bytes: number): Promise<boolean>;
  /** Undefined if the file does not exist or has another size. */
  open(name: string, range: ByteRange | undefined, bytes: number): Promise<Readable | undefined>;
  remove(name: string): Promise<void>;
  list(): AsyncIterable<StoredFile>;
}

/** `MirroredFile.file` without the scheme. */
export function nameIn({ file }: MirroredFile): string {
  return file.slice(file.indexOf(':') + 1);
}
