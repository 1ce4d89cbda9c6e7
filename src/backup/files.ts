/** Files of a backup: copied and synced to the disk, with digests of their contents. */

import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../security/file-modes.ts';

export interface BackupFile {
  /** Path in the backup, with `/` between folders. */
  name: string;
  bytes: number;
  /** SHA-256 in hexadecimal. */
  sha256: string;
}

export async function describeFile(folder: string, name: string): Promise<BackupFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(join(folder, name))) {
    hash.update(chunk as Buffer);
    bytes += (chunk as Buffer).length;
  }
  return { name, bytes, sha256: hash.digest('hex') };
}

/** Copies a file with its folders, private and synced; describes the bytes that were read. */
export async function copyFile(from: string, to: string, name: string): Promise<BackupFile> {
  mkdirSync(dirname(join(to, name)), { recursive: true, mode: PRIVATE_FOLDER });
  const target: FileHandle = await open(join(to, name), 'wx', PRIVATE_FILE);
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of createReadStream(join(from, name))) {
      hash.update(chunk as Buffer);
      await target.writeFile(chunk as Buffer);
      bytes += (chunk as Buffer).length;
    }
    await target.sync();
    return { name, bytes, sha256: hash.digest('hex') };
  } finally {
    await target.close();
  }
}

/** Relative names of all files below a folder of `root`, with `/` between folders. */
export function filesBelow(root: string, folder: string): string[] {
  const path = join(root, folder);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [];
  const entries = readdirSync(path, { withFileTypes: true });
  return entries.flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesBelow(root, name);
    return entry.isFile() ? [name] : [];
  });
}

/** Flushes a file, or the names in a folder. Folders need none on Windows. */
export function syncPath(path: string): void {
  if (process.platform === 'win32' && statSync(path).isDirectory()) return;
  const descriptor = openSync(path, process.platform === 'win32' ? 'r+' : 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
