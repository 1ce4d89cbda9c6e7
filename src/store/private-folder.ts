/** Permission repair of the data folder: files of earlier versions may be readable by other users of the machine. */

import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../security/file-modes.ts';

/** Names of the files and folders of the gateway in its data folder; others are left alone. */
const GATEWAY_FILE_NAMES = /^(?:(?:state|usage|lock)\.db|encryption\.key|keys\.jsonl|videos$|journal$)/;
const GROUP_AND_OTHERS_MODE = 0o077;

/** Returns the paths whose mode could not be changed. */
export function restrictDataFolder(folder: string): string[] {
  if (process.platform === 'win32') return [];
  const names = listNames(folder).filter((name) => GATEWAY_FILE_NAMES.test(name));
  return names.flatMap((name) => restrictPath(join(folder, name)));
}

/** A private folder is not descended into: its content is already protected. */
function restrictPath(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found || (found.mode & GROUP_AND_OTHERS_MODE) === 0) return [];
  const inner = found.isDirectory() ? listNames(path).flatMap((name) => restrictPath(join(path, name))) : [];
  try {
    chmodSync(path, found.isDirectory() ? PRIVATE_FOLDER : PRIVATE_FILE);
    return inner;
  } catch {
    return [path, ...inner];
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
