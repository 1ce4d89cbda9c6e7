/** Folder of a journal: one process at a time writes it, and the operating system ends its lock when the process dies. */

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import { createPrivateFolder } from '../../security/file-modes.ts';
import { tryLockFolder } from '../../store/sqlite/folder-lock.ts';

export interface JournalFolder {
  path: string;
  /** Makes the folder again, with its lock, if it was deleted. Throws if another process has it now, or the data folder is gone too. */
  restore(): void;
  release(): void;
}

/** Journals in one folder; more processes do not share a data folder. */
const MAX_JOURNALS = 1000;
const JOURNAL_NAME = /^\d{1,4}$/;

/** Locks the first journal that no other process has, or a new one. */
export function takeJournalFolder(root: string): JournalFolder {
  createPrivateFolder(root);
  for (let number = 1; number <= MAX_JOURNALS; number++) {
    const folder = lockJournal(join(root, String(number)));
    if (folder) return folder;
  }
  throw new GatewayError('unavailable', `All journals in ${root} are in use.`);
}

/** Locks every other journal whose process is gone, each when it is its turn. */
export function* takeAbandonedFolders(root: string): Generator<JournalFolder> {
  createPrivateFolder(root);
  for (const name of readdirSync(root).filter((one) => JOURNAL_NAME.test(one))) {
    const folder = lockJournal(join(root, name));
    if (folder) yield folder;
  }
}

function lockJournal(path: string): JournalFolder | undefined {
  createPrivateFolder(path);
  let lock = tryLockFolder(path);
  if (!lock) return undefined;
  return {
    path,
    restore() {
      const data = dirname(dirname(path));
      if (existsSync(join(path, 'lock.db'))) return;
      if (!existsSync(data)) throw new GatewayError('unavailable', `The folder ${data} is gone.`);
      createPrivateFolder(path);
      const fresh = tryLockFolder(path);
      if (!fresh)
        throw new GatewayError('unavailable', `The folder ${path} was deleted, and another process has it now.`);
      lock?.release();
      lock = fresh;
    },
    release: () => lock?.release(),
  };
}
