/** Data folder lock: one gateway per folder. The operating system releases it when the holder dies. */

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
  let lock: DatabaseSync | undefined;
  try {
    lock = connect(join(folder, 'lock.db'), { timeout: 0 });
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    throw new GatewayError('unavailable', lockFailure(folder, error as { errcode?: number; message: string }));
  }
  const acquired = lock;
  return { release: () => acquired.close() };
}

function lockFailure(folder: string, { errcode = 0, message }: { errcode?: number; message: string }): string {
  switch (errcode & 0xff) {
    case SQLITE_BUSY:
      return `Another gateway runs on the folder ${folder}. Stop it, or give this one a folder of its own.`;
    case SQLITE_NOTADB:
      return `The file ${join(folder, 'lock.db')} is damaged. It holds nothing: stop all gateways and delete it.`;
    default:
      return `The folder ${folder} cannot be used: ${message}.`;
  }
}
