/** Where mirrored videos lie, whatever kind of place it is. */

import type { Readable } from 'node:stream';
import type { MirroredFile } from '../../records/video-task.ts';

export interface ByteRange {
  start: number;
  /** The last byte, included. */
  end: number;
}

export interface StoredFile {
  /** As in `Kept`, without the name of the store. */
  name: string;
  taskId: string;
  /** Unix milliseconds. */
  modifiedAt: number;
}

/** Names are `videos/{task id}/{index}-{first 16 digits of the hash}.{extension}`. */
export interface MediaStore {
  /** Durably; again with the same name is fine. The file at `path` may be gone afterwards. */
  put(path: string, name: string, kept: MirroredFile, signal: AbortSignal): Promise<void>;
  exists(name: string, bytes: number): Promise<boolean>;
  /** Undefined when it is gone. */
  open(name: string, range: ByteRange | undefined, bytes: number): Promise<Readable | undefined>;
  remove(name: string): Promise<void>;
  list(): AsyncIterable<StoredFile>;
}

const NAME = /^videos\/([^/]+)\/[^/]+$/;

/** The task to which a file in the folder of videos belongs. */
export function taskOf(name: string): string | undefined {
  return NAME.exec(name)?.[1];
}

/** `Kept.file` without the store. */
export function nameIn({ file }: MirroredFile): string {
  return file.slice(file.indexOf(':') + 1);
}
