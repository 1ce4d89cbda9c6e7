/** Private modes of files and folders in the data folder, independent of the umask. */

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/**
 * Creates a folder and those above it, unless it exists. With `recursive`, `mkdirSync` of Node.js never returns where a folder
 * exists in which none can be made, such as /proc.
 */
export function createPrivateFolder(folder: string): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (!existsSync(parent)) createPrivateFolder(parent);
  try {
    mkdirSync(folder, PRIVATE_FOLDER);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
