/** Check of a backup: every file as the manifest has it, databases that this version may use, and the encryption key. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadEncryptionKeys } from '../config/encryption-key.ts';
import type { Config } from '../config/resolved.ts';
import { GatewayError } from '../core/errors.ts';
import { keyId } from '../security/cipher.ts';
import { readStoreStatus } from '../store/open.ts';
import { damageOf } from '../store/sqlite/copy.ts';
import { type BackupFile, describeFile } from './files.ts';
import { type Manifest, readManifest } from './manifest.ts';

export interface CheckOptions {
  config: Pick<Config, 'data' | 'postgres' | 'encryption'>;
  /** Folder of the backup. */
  folder: string;
  /** File with the encryption key, for a data folder and a configuration without one. */
  encryptionKey?: string | undefined;
}

/** Throws `invalid_request` with the reason if the backup cannot be restored. */
export async function checkBackup({ config, folder, encryptionKey }: CheckOptions): Promise<Manifest> {
  const manifest = readManifest(folder);
  checkEngine(manifest, config, folder);
  const problems: string[] = [];
  // One after the other: there may be more media than a process may open files.
  for (const file of manifest.files) problems.push(...(await problemOf(folder, file)));
  if (problems.length > 0) throw new GatewayError('invalid_request', `${folder} is damaged: ${problems.join('; ')}.`);
  if (manifest.engine === 'sqlite') await checkDatabases(folder);
  if (manifest.encryptionKeyId !== null) checkKey(manifest.encryptionKeyId, config, encryptionKey);
  return manifest;
}

/** A store that the configuration does not name would lie in the data folder unused. */
function checkEngine({ engine }: Manifest, { postgres }: CheckOptions['config'], folder: string): void {
  if ((engine === 'postgres') === (postgres !== undefined)) return;
  const [from, to] = engine === 'postgres' ? ['PostgreSQL', 'a data folder'] : ['a data folder', 'PostgreSQL'];
  const message = `${folder} is the backup of a gateway with its store in ${from}, and the configuration names ${to}.`;
  throw new GatewayError('invalid_request', message);
}

async function problemOf(folder: string, { name, bytes, sha256 }: BackupFile): Promise<string[]> {
  if (!existsSync(join(folder, name))) return [`${name} is missing`];
  const found = await describeFile(folder, name);
  if (found.bytes !== bytes) return [`${name} has ${found.bytes} bytes instead of ${bytes}`];
  return found.sha256 === sha256 ? [] : [`${name} is not the file that was written`];
}

async function checkDatabases(folder: string): Promise<void> {
  for (const name of ['state.db', 'usage.db']) {
    const damage = damageOf(join(folder, name));
    if (damage) throw new GatewayError('invalid_request', `${folder} is damaged: ${name}: ${damage}.`);
  }
  await readStoreStatus({ data: folder });
}

function checkKey(needed: string, { data, encryption }: CheckOptions['config'], file: string | undefined): void {
  const keyFile = file ?? encryption.keyFile;
  const origin =
    encryption.keys.length > 0 ? 'encryption.key of the configuration' : (keyFile ?? join(data, 'encryption.key'));
  if (encryption.keys.length === 0 && !existsSync(origin)) {
    const message =
      `The encryption key ${origin} is missing, without which the secrets in the backup cannot be read. ` +
      'Name the file with its copy by --encryption-key.';
    throw new GatewayError('invalid_request', message);
  }
  const keys = loadEncryptionKeys({
    keys: encryption.keys,
    ...(keyFile !== undefined && { keyFile }),
    data,
    mayCreate: false,
  });
  if (keys.map(keyId).includes(needed)) return;
  throw new GatewayError('invalid_request', `The backup was encrypted with another key than ${origin}.`);
}

/** Whether two files hold the same bytes. */
export function isSameFile(one: string, other: string): boolean {
  return readFileSync(one).equals(readFileSync(other));
}
