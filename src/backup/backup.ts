/** Backup of the data folder beside a running gateway; it has everything that was acknowledged before it began. */

import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config/resolved.ts';
import { systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { version } from '../core/version.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../security/file-modes.ts';
import { sizeOf } from '../store/lost-store.ts';
import { copyDatabase, damageOf, migrateCopy, openCopy } from '../store/sqlite/copy.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { copyJournals, replayJournalCopy } from '../usage/journal/copy.ts';
import { type BackupFile, copyFile, describeFile, filesBelow, syncPath } from './files.ts';
import { type Manifest, writeManifest } from './manifest.ts';

export interface BackupOptions {
  config: Pick<Config, 'data' | 'postgres' | 'encryption'>;
  /** Absent or empty. */
  folder: string;
  /** Whether finished videos and pictures are copied. */
  media: boolean;
  /** File for a copy of the encryption key, outside the backup. */
  encryptionKey?: string | undefined;
  log: Pick<Logger, 'error' | 'warn'>;
}

/** Journals are copied beside the databases while records of theirs are stored in the copies. */
const JOURNALS = 'journal';
const MEDIA = ['videos', 'pictures'];
/** Databases in the order of copying. A settlement writes `usage` first, so its copy must be the younger one. */
const DATABASES = ['state', 'usage'] as const;

/** Throws `invalid_request` for a folder that is not empty, and `unavailable` where something cannot be copied. */
export async function backUp(options: BackupOptions): Promise<Manifest> {
  const { config, media, log } = options;
  const folder = resolve(options.folder);
  if (!config.postgres && sizeOf(join(config.data, 'state.db')) === undefined)
    throw new GatewayError('not_found', `There is no store in ${config.data}.`);
  prepareFolder(folder);
  const keyFile = options.encryptionKey === undefined ? undefined : keyToCopy(options.encryptionKey, options);
  const journals = copyJournals(join(config.data, JOURNALS), join(folder, JOURNALS));
  let encryptionKeyId: string | null = null;
  const files: BackupFile[] = [];
  if (config.postgres) {
    for (const name of filesBelow(folder, JOURNALS)) files.push(await described(folder, name));
  } else {
    encryptionKeyId = await copyStore(config.data, folder, { journals, log });
    for (const database of DATABASES) files.push(await described(folder, `${database}.db`));
  }
  if (media) {
    for (const name of MEDIA.flatMap((kind) => filesBelow(config.data, kind))) {
      files.push(...(await copyIfThere(config.data, folder, name)));
    }
  }
  if (keyFile) copyKey(keyFile.from, keyFile.to);
  const manifest: Manifest = {
    format: 1,
    polygate: version,
    createdAt: new Date(systemClock.now()).toISOString(),
    engine: config.postgres ? 'postgres' : 'sqlite',
    encryptionKeyId,
    files,
  };
  writeManifest(folder, manifest);
  return manifest;
}

function prepareFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  if (readdirSync(folder).length === 0) return;
  throw new GatewayError('invalid_request', `${folder} is not empty. Name a new folder for each backup.`);
}

/** Copies both databases and stores in them the records that only the journals hold; returns the id of the encryption key. */
async function copyStore(
  data: string,
  folder: string,
  { journals, log }: { journals: readonly string[]; log: BackupOptions['log'] },
): Promise<string | null> {
  for (const database of DATABASES) {
    const copy = join(folder, `${database}.db`);
    try {
      await copyDatabase(join(data, `${database}.db`), copy);
    } catch (error) {
      const reason = error instanceof StoreUnavailable ? error.problem : (error as Error).message;
      throw new GatewayError('unavailable', `${database}.db cannot be copied: ${reason}.`, { cause: error });
    }
    const damage = damageOf(copy);
    if (damage) throw new GatewayError('unavailable', `${database}.db in ${data} is damaged: ${damage}.`);
  }
  migrateCopy(join(folder, 'usage.db'), 'usage');
  const usage = openCopy(join(folder, 'usage.db'));
  for (const journal of journals) {
    const isDamaged = await replayJournalCopy(journal, { store: usage, log });
    if (isDamaged)
      log.warn({ journal }, 'a part of the journal is damaged: the usage records in it are not in the backup');
  }
  usage.close();
  rmSync(join(folder, JOURNALS), { recursive: true, force: true });
  const state = openCopy(join(folder, 'state.db'));
  const keyId = await state.call('readEncryptionKey', {});
  state.close();
  return keyId ?? null;
}

async function described(folder: string, name: string): Promise<BackupFile> {
  const file = await describeFile(folder, name);
  syncPath(join(folder, name));
  return file;
}

/** A file of media may be removed while others are copied. */
async function copyIfThere(from: string, to: string, name: string): Promise<BackupFile[]> {
  try {
    return [await copyFile(from, to, name)];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    rmSync(join(to, name), { force: true });
    return [];
  }
}

/** Throws `invalid_request` where there is no file of the key, or its copy would be beside the data that it decrypts. */
function keyToCopy(target: string, { config, folder }: BackupOptions): { from: string; to: string } {
  const { keys, keyFile } = config.encryption;
  const from = keyFile ?? join(config.data, 'encryption.key');
  const to = resolve(target);
  const inside = relative(resolve(folder), to);
  const refuse = (reason: string) => new GatewayError('invalid_request', `--encryption-key ${target}: ${reason}.`);
  if (keys.length > 0) throw refuse('the key is in the configuration, not in a file');
  if (!existsSync(from)) throw refuse(`there is no ${from}`);
  if (inside !== '..' && !inside.startsWith(`..${sep}`)) throw refuse('keep the key apart from the backup');
  if (resolve(from) === to) throw refuse('this is the key itself; name another place for its copy');
  if (existsSync(to)) {
    if (!statSync(to).isFile()) throw refuse('it is no file');
    if (!readFileSync(to).equals(readFileSync(from)))
      throw refuse('the file has something else, such as the key of earlier backups; name a new one');
  }
  return { from, to };
}

function copyKey(from: string, to: string): void {
  if (existsSync(to)) return;
  mkdirSync(dirname(to), { recursive: true, mode: PRIVATE_FOLDER });
  cpSync(from, to, { preserveTimestamps: true });
  chmodSync(to, PRIVATE_FILE);
  syncPath(to);
}
