/**
 * Restore of a backup into the data folder of a gateway that does not run. Killed at any moment, it leaves either a store as
 * it was, or none and the folder of the unfinished restore, with which no gateway starts.
 */

import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../security/file-modes.ts';
import { isMissingOrEmpty, UNFINISHED_RESTORE } from '../store/lost-store.ts';
import { lockFolder } from '../store/sqlite/folder-lock.ts';
import { type CheckOptions, checkBackup, isSameFile } from './check.ts';
import { copyFile, describeFile, filesBelow, syncPath } from './files.ts';
import type { Manifest } from './manifest.ts';

export interface RestoreOptions extends CheckOptions {
  /** Moves a store that is there aside, or the journals of a gateway on PostgreSQL, instead of refusing. */
  replace: boolean;
}

export interface Restored {
  manifest: Manifest;
  /** Folder to which the former store or journals were moved. */
  replaced?: string;
}

/** The databases with their logs, which must not stay beside other databases; `state.db` first, without which none starts. */
const STORE_FILES = ['state.db', 'state.db-wal', 'state.db-shm', 'usage.db', 'usage.db-wal', 'usage.db-shm'];
const JOURNALS = 'journal';

/** Throws `invalid_request` and `unavailable`, before anything is changed, if the backup cannot be restored. */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { config, folder, encryptionKey, replace } = options;
  const manifest = await checkBackup(options);
  const { data } = config;
  mkdirSync(data, { recursive: true, mode: PRIVATE_FOLDER });
  const lock = lockFolder(data);
  try {
    const [kind, isThere] =
      manifest.engine === 'sqlite' ? ['store', hasStore(data)] : ['journal', await hasOtherJournals(data, manifest)];
    if (isThere && !replace) {
      throw new GatewayError('invalid_request', `There is a ${kind} in ${data}. --replace moves it aside.`);
    }
    if (encryptionKey !== undefined) placeKey(encryptionKey, config);
    const staged = join(data, UNFINISHED_RESTORE);
    rmSync(staged, { recursive: true, force: true });
    for (const file of manifest.files) {
      const copied = await copyFile(folder, staged, file.name);
      if (copied.sha256 !== file.sha256)
        throw new GatewayError('unavailable', `${file.name} changed while it was read.`);
    }
    syncPath(data);
    const former = manifest.engine === 'sqlite' ? STORE_FILES : [];
    // Beside a lost store, journals hold the records acknowledged since the backup, and the next start adds them.
    const movesJournals = manifest.engine === 'sqlite' ? replace : isThere;
    const replaced = moveAside(data, movesJournals ? [...former, JOURNALS] : former);
    place(manifest, staged, data);
    return { manifest, ...(replaced !== undefined && { replaced }) };
  } finally {
    lock.release();
  }
}

/** A restore that did not end may have left `usage.db`. */
function hasStore(data: string): boolean {
  if (!isMissingOrEmpty(join(data, 'state.db'))) return true;
  return !isMissingOrEmpty(join(data, 'usage.db')) && !existsSync(join(data, UNFINISHED_RESTORE));
}

/**
 * Whether there are journals that are not those of the backup: their segments have the same names. Throws `unavailable` if a
 * gateway writes one.
 */
async function hasOtherJournals(data: string, { files }: Manifest): Promise<boolean> {
  const digests = new Map(files.map(({ name, sha256 }) => [name, sha256]));
  const root = join(data, JOURNALS);
  if (!files.some(({ name }) => name.startsWith(`${JOURNALS}/`)) || !existsSync(root)) return false;
  for (const name of readdirSync(root).filter((one) => /^\d+$/.test(one))) lockFolder(join(root, name)).release();
  for (const name of filesBelow(data, JOURNALS)) {
    if (name.endsWith('.journal') && (await describeFile(data, name)).sha256 !== digests.get(name)) return true;
  }
  return false;
}

/** Puts the key where the gateway looks for it, unless it is there. */
function placeKey(from: string, { data, encryption }: CheckOptions['config']): void {
  if (encryption.keys.length > 0) return;
  const to = encryption.keyFile ?? join(data, 'encryption.key');
  if (existsSync(to)) {
    if (isSameFile(from, to)) return;
    throw new GatewayError('invalid_request', `${to} is another key than ${from}. Move it away first.`);
  }
  const temporary = `${to}.new`;
  copyFileSync(from, temporary);
  chmodSync(temporary, PRIVATE_FILE);
  syncPath(temporary);
  renameSync(temporary, to);
  syncPath(dirname(to));
}

/** Moves former files to a folder of their own; undefined if there are none. */
function moveAside(data: string, former: readonly string[]): string | undefined {
  const names = former.filter((name) => existsSync(join(data, name)));
  if (names.length === 0) return undefined;
  const folder = join(data, `replaced-${new Date(systemClock.now()).toISOString().replaceAll(/[:.]/g, '-')}`);
  mkdirSync(folder, { mode: PRIVATE_FOLDER });
  for (const name of names) renameSync(join(data, name), join(folder, name));
  syncPath(data);
  return folder;
}

/** Media that are there stay as they are: a file of one name always has the same content. */
function place({ files }: Manifest, staged: string, data: string): void {
  const names = files
    .map(({ name }) => name)
    .sort((one, other) => Number(one === 'state.db') - Number(other === 'state.db'));
  for (const name of names) {
    const target = join(data, name);
    mkdirSync(dirname(target), { recursive: true, mode: PRIVATE_FOLDER });
    if (!existsSync(target) || !name.includes('/')) renameSync(join(staged, name), target);
  }
  for (const folder of new Set(names.map((name) => dirname(join(data, name))))) syncPath(folder);
  syncPath(data);
  rmSync(staged, { recursive: true, force: true });
}
