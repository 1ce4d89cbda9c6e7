/** Manifest of a backup: written last, so that a backup without one is incomplete. */

import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import { isObject, type Json } from '../core/json/json.ts';
import { PRIVATE_FILE } from '../security/file-modes.ts';
import { type BackupFile, syncPath } from './files.ts';

export interface Manifest {
  /** Version of the form of the backup. */
  format: 1;
  /** Version of the program that made it. */
  polygate: string;
  createdAt: string;
  engine: 'sqlite' | 'postgres';
  /** Short hash of the key that the stored secrets are encrypted with; null if there are none. */
  encryptionKeyId: string | null;
  files: BackupFile[];
}

const MANIFEST_NAME = 'manifest.json';
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
/** Databases, journals of a gateway on PostgreSQL, and media; nothing that leads out of the folder. */
const FILE_NAME = /^(?:(?:state|usage)\.db|(?:journal|videos|pictures)(?:\/(?!\.{1,2}(?:\/|$))[^/\\\0]+)+)$/;
const SHA256 = /^[0-9a-f]{64}$/;

export function writeManifest(folder: string, manifest: Manifest): void {
  const temporary = join(folder, `${MANIFEST_NAME}.new`);
  writeFileSync(temporary, `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: PRIVATE_FILE, flush: true });
  renameSync(temporary, join(folder, MANIFEST_NAME));
  syncPath(folder);
}

/** Throws `invalid_request` if the folder is no complete backup. */
export function readManifest(folder: string): Manifest {
  const path = join(folder, MANIFEST_NAME);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) {
    throw new GatewayError('invalid_request', `${folder} is no complete backup: it has no ${MANIFEST_NAME}.`);
  }
  const manifest = size <= MAX_MANIFEST_BYTES ? parse(readFileSync(path, 'utf8')) : undefined;
  if (isManifest(manifest)) return manifest;
  throw new GatewayError('invalid_request', `${path} is damaged, or of a backup that this version does not know.`);
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isManifest(value: Json): value is Manifest {
  if (!isObject(value)) return false;
  const { format, polygate, createdAt, engine, encryptionKeyId, files } = value;
  return (
    format === 1 &&
    typeof polygate === 'string' &&
    typeof createdAt === 'string' &&
    (engine === 'sqlite' || engine === 'postgres') &&
    (encryptionKeyId === null || typeof encryptionKeyId === 'string') &&
    Array.isArray(files) &&
    files.every(isFile) &&
    new Set(files.map(({ name }) => name)).size === files.length &&
    (engine === 'postgres' || ['state.db', 'usage.db'].every((name) => files.some((file) => file.name === name)))
  );
}

function isFile(value: Json): value is BackupFile {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    FILE_NAME.test(value.name) &&
    Number.isSafeInteger(value.bytes) &&
    typeof value.sha256 === 'string' &&
    SHA256.test(value.sha256)
  );
}
