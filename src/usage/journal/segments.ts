/** Segment files of a journal: opened for synced writes, allocated ahead of need and used again. */

import { constants, fstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { allocateFile, HAS_SYNCED_WRITES, type JournalDisk, segmentName } from './disk.ts';

export interface SegmentFile {
  name: string;
  fd: number;
  /** Size in bytes. */
  bytes: number;
  /** Each write needs a flush after it, because the file system has no synced writes. */
  needsSync: boolean;
}

export interface SegmentPoolOptions {
  disk: JournalDisk;
  clock: Pick<Clock, 'monotonic' | 'after'>;
  folder: string;
  segmentBytes: number;
  /** Whether a finished write must survive a power cut. */
  sync: boolean;
  /** Names of all segment files. */
  names: readonly string[];
  /** Names of those without records that are needed. */
  free: readonly string[];
  /** The files were deleted: makes their folder again, or throws. */
  onDeleted(): void;
  /** No file could be made; another try follows. */
  onProblem(error: Error): void;
  /** A file is there. */
  onReady(): void;
}

export interface SegmentPool {
  /** An open file to write to, or undefined if there is none yet; it is being made then, and `onAvailable` follows. */
  take(onAvailable: () => void): SegmentFile | undefined;
  /** Makes a file for the next `take` if there is none, and tries again until there is one; only a `take` does not wait for the next try. */
  prepare(): void;
  /** Whether the file in use was deleted; looks once a second. What is written to it ends with this process. Others are forgotten then. */
  areDeleted(file: SegmentFile): boolean;
  /** Gives back the file of a segment whose records are no longer needed. */
  release(name: string): void;
  close(): void;
}

/** The first file of a journal is small, so that a start does not wait for it. */
const FIRST_SEGMENT_BYTES = 1024 * 1024;
/** Files kept for later use; more are removed. */
const MAX_FREE_FILES = 2;
/** Interval of the looks whether the file in use was deleted. */
const CHECK_INTERVAL_MS = 1_000;
/** Delay after a failed call of the file system, doubled by each one in a row: a disk that can be written again is used within five seconds. */
export const MIN_RETRY_DELAY_MS = 100;
export const MAX_RETRY_DELAY_MS = 4_000;

export function createSegmentPool(options: SegmentPoolOptions): SegmentPool {
  const { disk, clock, folder, segmentBytes, sync, onDeleted, onProblem, onReady } = options;
  const free = [...options.free];
  let lastNumber = Math.max(0, ...options.names.map((name) => Number.parseInt(name, 10)));
  let ready: SegmentFile | undefined;
  let preparing = false;
  let closed = false;
  let checkedAt = Number.NEGATIVE_INFINITY;
  /** The files were deleted, and their folder could not be made again. */
  let isGone = false;
  /** Files up to this number were deleted; those of these names may be of another process. */
  let lastDeleted = 0;
  let waiting: (() => void) | undefined;
  let retryDelayMs = MIN_RETRY_DELAY_MS;
  let cancelRetry: (() => void) | undefined;

  function prepare(): void {
    if (ready || preparing || cancelRetry) return;
    preparing = true;
    const name = free.shift();
    if (name === undefined) allocate();
    else open(name);
  }

  function allocate(): void {
    const problem = isGone ? problemOfFolder() : undefined;
    if (problem) {
      queueMicrotask(() => failed(problem));
      return;
    }
    lastNumber += 1;
    const fresh = segmentName(lastNumber);
    const bytes = lastNumber === 1 ? Math.min(segmentBytes, FIRST_SEGMENT_BYTES) : segmentBytes;
    allocateFile(disk, folder, fresh, bytes, (error) => {
      if (!error) open(fresh);
      else failed(isMissing(error) ? (problemOfFolder() ?? error) : error);
    });
  }

  function problemOfFolder(): Error | undefined {
    lastDeleted = lastNumber;
    free.length = 0;
    try {
      onDeleted();
      isGone = false;
      return undefined;
    } catch (error) {
      isGone = true;
      return error as Error;
    }
  }

  function open(name: string): void {
    const path = join(folder, name);
    // Nothing in it is needed, and another one may be usable.
    const discard = (error: Error) => disk.remove(path, () => failed(error));
    const flags = sync && HAS_SYNCED_WRITES ? constants.O_WRONLY | constants.O_DSYNC : constants.O_WRONLY;
    disk.open(path, flags, (error, fd) => {
      if (!error) return opened(name, fd, sync && !HAS_SYNCED_WRITES);
      if ((error as NodeJS.ErrnoException).code !== 'EINVAL' || !sync) return discard(error);
      // The file system has no synced writes.
      disk.open(path, constants.O_WRONLY, (failure, plain) => {
        if (failure) discard(failure);
        else opened(name, plain, true);
      });
    });
  }

  function opened(name: string, fd: number, needsSync: boolean): void {
    preparing = false;
    if (closed) {
      disk.close(fd, () => undefined);
      return;
    }
    retryDelayMs = MIN_RETRY_DELAY_MS;
    ready = { name, fd, needsSync, bytes: fstatSync(fd).size };
    const notify = waiting;
    waiting = undefined;
    onReady();
    notify?.();
  }

  function failed(error: Error): void {
    preparing = false;
    if (closed) return;
    onProblem(error);
    cancelRetry = clock.after(retryDelayMs, retryNow, { background: true });
    retryDelayMs = Math.min(2 * retryDelayMs, MAX_RETRY_DELAY_MS);
  }

  function retryNow(): void {
    cancelRetry?.();
    cancelRetry = undefined;
    prepare();
  }

  return {
    take(onAvailable) {
      const file = ready;
      ready = undefined;
      if (!file) {
        waiting = onAvailable;
        retryNow();
      }
      return file;
    },
    prepare,
    areDeleted({ fd }) {
      if (clock.monotonic() - checkedAt < CHECK_INTERVAL_MS) return false;
      checkedAt = clock.monotonic();
      if (!isDeleted(fd)) return false;
      if (ready) disk.close(ready.fd, () => undefined);
      ready = undefined;
      problemOfFolder();
      return true;
    },
    close() {
      closed = true;
      cancelRetry?.();
      if (ready) disk.close(ready.fd, () => undefined);
      ready = undefined;
    },
    release(name) {
      if (Number.parseInt(name, 10) <= lastDeleted) return;
      if (free.length >= MAX_FREE_FILES) {
        disk.remove(join(folder, name), () => undefined);
        return;
      }
      free.push(name);
      // A full disk that has no room for a new file can have this one.
      if (waiting && cancelRetry && !closed) retryNow();
    },
  };
}

/** False also where the disk does not say: a write meets its problem. */
function isDeleted(fd: number): boolean {
  try {
    return fstatSync(fd).nlink === 0;
  } catch {
    return false;
  }
}

function isMissing(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
