/** `polygate backup` and `polygate restore`. */

import { backUp } from '../backup/backup.ts';
import { checkBackup } from '../backup/check.ts';
import type { Manifest } from '../backup/manifest.ts';
import { restore } from '../backup/restore.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/resolved.ts';
import { systemClock } from '../core/clock.ts';
import { openStore } from '../store/open.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { type ConfigOptions, configSource } from './source.ts';

export interface BackupCommandOptions extends ConfigOptions {
  media?: boolean;
  encryptionKey?: string;
}

export interface RestoreCommandOptions extends ConfigOptions {
  check?: boolean;
  replace?: boolean;
  encryptionKey?: string;
}

const POSTGRES_NOTE =
  'The store is a PostgreSQL database: back it up with its own tools, after this command, e.g. ' +
  'pg_dump --format=custom --file=polygate.dump DATABASE_URL';

export async function makeBackup(folder: string, options: BackupCommandOptions): Promise<void> {
  const config = loadConfig(configSource(options));
  const manifest = await backUp({
    config,
    folder,
    media: options.media ?? false,
    encryptionKey: options.encryptionKey,
    log: { error: warn, warn },
  });
  if (!config.postgres) await noteBackup(config);
  process.stdout.write(`${summary(manifest)} are in ${folder}.\n`);
  if (config.postgres) process.stderr.write(`${POSTGRES_NOTE}\n`);
  if (!options.encryptionKey && config.encryption.keys.length === 0) {
    process.stderr.write(
      'The encryption key is not in it. Keep a copy of it in another place, e.g. by --encryption-key FILE.\n',
    );
  }
}

export async function restoreBackup(folder: string, options: RestoreCommandOptions): Promise<void> {
  const config = loadConfig(configSource(options));
  const { encryptionKey, check = false, replace = false } = options;
  if (check) {
    const manifest = await checkBackup({ config, folder, encryptionKey });
    process.stdout.write(`${folder} can be restored: ${summary(manifest)}, of ${manifest.createdAt}.\n`);
    return;
  }
  const { manifest, replaced } = await restore({ config, folder, encryptionKey, replace });
  process.stdout.write(`${summary(manifest)} of ${manifest.createdAt} are in ${config.data}.\n`);
  const former = manifest.engine === 'sqlite' ? 'store' : 'journal';
  if (replaced) process.stdout.write(`The ${former} that was there is in ${replaced}.\n`);
}

/** The moment is part of the metrics of the gateway. A store that cannot be written, as on a full disk, is backed up all the same. */
async function noteBackup(config: Config): Promise<void> {
  const store = await openStore({ ...config, role: 'guest' });
  try {
    await store.call('noteMoment', { name: 'backup', at: systemClock.now() });
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    process.stderr.write(
      `The time of the backup cannot be noted for polygate_last_backup_seconds: ${error.problem}.\n`,
    );
  } finally {
    await store.close();
  }
}

function summary({ files }: Manifest): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return `${files.length} files with ${(bytes / 1e6).toFixed(1)} MB`;
}

function warn(facts: unknown, message?: string): void {
  process.stderr.write(`${message ?? ''} ${JSON.stringify(facts)}\n`);
}
