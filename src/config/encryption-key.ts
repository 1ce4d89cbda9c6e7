/** Encryption keys of stored secrets: from the configuration, else from a file that the first start creates. */

import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import { createPrivateFolder, PRIVATE_FILE } from '../security/file-modes.ts';
import type { EncryptionConfig } from './resolved.ts';

export interface EncryptionKeyOptions extends EncryptionConfig {
  /** Folder of the default key file, `encryption.key`. */
  data: string;
  /** Whether the default file may be created: only while nothing is encrypted yet. */
  mayCreate: boolean;
}

const KEY_BYTES = 32;

/** The first key encrypts, all decrypt. Throws `invalid_request` with a message for the operator. */
export function loadEncryptionKeys({ keys, keyFile, data, mayCreate }: EncryptionKeyOptions): Buffer[] {
  if (keys.length > 0) return keys.map((key) => decode(key.reveal(), 'encryption.key'));
  const file = keyFile ?? join(data, 'encryption.key');
  const text = readIfExists(file) ?? (keyFile === undefined && mayCreate ? createKeyFile(file) : undefined);
  if (text === undefined) throw missingKeyError(file, mayCreate);
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').map((line) => decode(line, file));
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new GatewayError('invalid_request', `${file} cannot be read: ${(error as Error).message}.`);
  }
}

/** Creates the file atomically and flushed to disk. If another process was faster, its key is used. */
function createKeyFile(file: string): string | undefined {
  const folder = dirname(file);
  const temporary = `${file}.${randomUUID()}`;
  const text = `${randomBytes(KEY_BYTES).toString('base64')}\n`;
  try {
    createPrivateFolder(folder);
    writeFileSync(temporary, text, { flag: 'wx', mode: PRIVATE_FILE, flush: true });
    linkSync(temporary, file);
    syncFolder(folder);
    return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return readIfExists(file);
    throw new GatewayError('invalid_request', `${file} cannot be made: ${(error as Error).message}.`);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Syncs the folder, so that the new file survives a power failure. Not needed on Windows. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function decode(text: string, origin: string): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.length === KEY_BYTES) return key;
  throw new GatewayError('invalid_request', `${origin} must hold ${KEY_BYTES} bytes as base64 on each line.`);
}

function missingKeyError(file: string, mayCreate: boolean): GatewayError {
  const reason = mayCreate
    ? 'make it with: openssl rand -base64 32'
    : 'the store has secrets that were encrypted with it; bring it back, or set encryption.key';
  return new GatewayError('invalid_request', `The encryption key ${file} is missing: ${reason}.`);
}
