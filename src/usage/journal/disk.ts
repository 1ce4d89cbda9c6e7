/** Files of the journal: preallocated, private, and written so that a finished write is on the disk. */

import { close, constants, fdatasync, open, readdirSync, readFileSync, unlink, write } from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FILE } from '../../security/file-modes.ts';

type OnDone = (error: Error | null) => void;

/** The calls of the file system that the journal makes while it runs. */
export interface JournalDisk {
  /** Opens or creates a file; `flags` are `O_*` constants. */
  open(path: string, flags: number, onOpen: (error: Error | null, fd: number) => void): void;
  /** Writes some or all of the bytes. */
  write(
    fd: number,
    bytes: Buffer,
    span: { from: number; length: number; at: number },
    onWritten: (error: Error | null, written: number) => void,
  ): void;
  /** Flushes the content of a file to the disk. */
  sync(fd: number, onDone: OnDone): void;
  close(fd: number, onDone: OnDone): void;
  remove(path: string, onDone: OnDone): void;
}

export const nodeDisk: JournalDisk = {
  open: (path, flags, onOpen) => open(path, flags, PRIVATE_FILE, onOpen),
  write: (fd, bytes, { from, length, at }, onWritten) => write(fd, bytes, from, length, at, onWritten),
  // Without fdatasync there, libuv flushes the whole file; on macOS both flush the cache of the drive.
  sync: (fd, onDone) => fdatasync(fd, onDone),
  close: (fd, onDone) => close(fd, onDone),
  remove: (path, onDone) => unlink(path, onDone),
};

/** One page: the page cache of some file systems writes whole the pieces in which a file was filled. */
const ZEROS_BYTES = 4096;

/** Whether a write to a file opened with O_DSYNC is on the disk when it returns. On macOS it may be in the cache of the drive. */
export const HAS_SYNCED_WRITES = typeof constants.O_DSYNC === 'number' && process.platform !== 'darwin';

/** Creates a file of zeros; it and its name are on the disk when it is done. A file that could not be made whole is removed. */
export function allocateFile(disk: JournalDisk, folder: string, name: string, size: number, onDone: OnDone): void {
  const path = join(folder, name);
  const zeros = Buffer.alloc(Math.min(size, ZEROS_BYTES));
  disk.open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, (failure, fd) => {
    if (failure) return onDone(failure);
    const end = (error: Error | null) => {
      if (error) disk.remove(path, () => onDone(error));
      else onDone(null);
    };
    const finish = (error: Error | null) => {
      disk.close(fd, () => {
        if (error) end(error);
        else syncFolder(disk, folder, end);
      });
    };
    const fill = (at: number) => {
      if (at >= size) return disk.sync(fd, finish);
      disk.write(fd, zeros, { from: 0, length: Math.min(zeros.length, size - at), at }, (error, written) => {
        if (error) finish(error);
        else fill(at + written);
      });
    };
    fill(0);
  });
}

/** Makes the names in a folder durable. Windows has no such call and needs none. */
function syncFolder(disk: JournalDisk, folder: string, onDone: OnDone): void {
  if (process.platform === 'win32') {
    onDone(null);
    return;
  }
  disk.open(folder, constants.O_RDONLY, (failure, fd) => {
    if (failure) return onDone(failure);
    disk.sync(fd, (error) => disk.close(fd, () => onDone(error)));
  });
}

const SEGMENT_NAME = /^\d+\.journal$/;

/** File name of a segment, with at least four digits: `0001.journal`. */
export function segmentName(number: number): string {
  return `${String(number).padStart(4, '0')}.journal`;
}

export function listSegmentNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => SEGMENT_NAME.test(name))
    .sort();
}

export function readSegmentFile(folder: string, name: string): Buffer {
  return readFileSync(join(folder, name));
}
