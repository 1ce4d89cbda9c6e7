/** Data folder lock: one gateway per folder. The operating system releases it when the holder dies. */

import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../core/errors.ts';
import { connect } from './connection.ts';

/** SQLite result codes. */
const SQLITE_BUSY = 5;
const SQLITE_NOTADB = 26;

export interface FolderLock {
  release(): void;
}

/** Throws `unavailable` if another gateway holds the lock or the folder is not writable. */
export function lockFolder(folder: string): FolderLock {
  const lock = tryLockFolder(folder);
  if (!lock) throw lockFailure(folder, SQLITE_BUSY);
  return lock;
}

/** Undefined if another process holds the lock. Throws `unavailable` if the folder is not writable. */
export function tryLockFolder(folder: string): FolderLock | undefined {
  let lock: DatabaseSync | undefined;
  try {
    lock = connect(join(folder, 'lock.db'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    const { errcode = 0, message } = error as { errcode?: number; message: string };
    if ((errcode & 0xff) === SQLITE_BUSY) return undefined;
    throw lockFailure(folder, errcode & 0xff, message);
  }
  const acquired = lock;
  return { release: () => acquired.close() };
}

function lockFailure(folder: string, code: number, message = ''): GatewayError {
  return new GatewayError('unavailable', lockMessage(folder, code, message));
}

function lockMessage(folder: string, code: number, message: string): string {
  switch (code) {
    case SQLITE_BUSY:
      return `A gateway runs on the folder ${folder} already. Stop it, or choose another folder.`;
    case SQLITE_NOTADB:
      return `The file ${join(folder, 'lock.db')} is damaged. It holds nothing: stop all gateways and delete it.`;
    default:
      return `The folder ${folder} cannot be used: ${writeProblem(folder) ?? message}.`;
  }
}

/** Returns why the folder or a database in it cannot be written, which SQLite does not say; undefined if they can, or are missing. */
export function writeProblem(folder: string): string | undefined {
  for (const name of ['.', 'lock.db', 'state.db', 'usage.db']) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.W_OK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EROFS') return `the disk of ${path} is read-only`;
      if (code === 'EACCES') return `user ${process.getuid?.() ?? ''} may not write to ${path}`;
    }
  }
  return undefined;
}
