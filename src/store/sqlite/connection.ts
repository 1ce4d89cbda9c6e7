/** Connections to SQLite files that only their owner may read. */

import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { PRIVATE_FILE } from '../../security/file-modes.ts';

/** The files that SQLite puts beside it get the same mode. */
export function connect(path: string, options: DatabaseSyncOptions): DatabaseSync {
  try {
    closeSync(openSync(path, 'ax', PRIVATE_FILE));
  } catch {
    // It is there, or SQLite says in its words why it cannot be.
  }
  return new DatabaseSync(path, options);
}
