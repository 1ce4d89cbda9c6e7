/** Folder of a journal: one process at a time writes it, and the operating system ends its lock when the process dies. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GatewayError } from '../../core/errors.ts';
import { createPrivateFolder } from '../../security/file-modes.ts';
import { tryLockFolder } from '../../store/sqlite/folder-lock.ts';
import { listSegmentNames } from './disk.ts';

export interface JournalFolder {
  path: string;
  /** Makes the folder again, with its lock, if it was deleted. Throws if another process has or had it since, or the data folder is gone too. */
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
  let own = lockFileOf(path);
  return {
    path,
    restore() {
      const data = dirname(dirname(path));
      const found = lockFileOf(path);
      if (found !== undefined && found === own) return;
      if (!existsSync(data)) throw new GatewayError('unavailable', `The folder ${data} is gone.`);
      createPrivateFolder(path);
      const fresh = tryLockFolder(path);
      // Segments beside the lock of another process are those of its journal, even if it has ended.
      if (!fresh || (found !== undefined && listSegmentNames(path).length > 0)) {
        fresh?.release();
        throw new GatewayError('unavailable', `The folder ${path} was deleted, and another process has it now.`);
      }
      lock?.release();
      lock = fresh;
      own = lockFileOf(path);
    },
    release: () => lock?.release(),
  };
}

/** Identity of the file that a process locks; no other has it while the lock is held. Undefined without a file. */
function lockFileOf(path: string): string | undefined {
  const found = statSync(join(path, 'lock.db'), { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}
