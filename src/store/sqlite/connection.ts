/** SQLite connections to files with private permissions. */

import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite';
import { PRIVATE_FILE } from '../../security/file-modes.ts';

/** Creates the file with a private mode, which SQLite copies to its journal files. */
export function connect(path: string, options: DatabaseSyncOptions): DatabaseSync {
  try {
    closeSync(openSync(path, 'ax', PRIVATE_FILE));
  } catch {
    // The file exists, or SQLite reports why it cannot be created.
  }
  return new DatabaseSync(path, options);
}
