/** Makes the data folder of earlier versions private: what they wrote may be open to other users of the machine. */

import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../security/file-modes.ts';

/** What the gateway keeps in its data folder; the rest of the folder is not its own. */
const OWN = /^(?:(?:state|usage|lock)\.db|encryption\.key|keys\.jsonl|videos$)/;
const OTHERS = 0o077;

/** Gives the paths that stay open because their mode cannot be changed. */
export function closeDataFolder(folder: string): string[] {
  if (process.platform === 'win32') return [];
  const names = list(folder).filter((name) => OWN.test(name));
  return names.flatMap((name) => closePath(join(folder, name)));
}

/** A folder that is closed already shows others nothing of what is in it. */
function closePath(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found || (found.mode & OTHERS) === 0) return [];
  const inner = found.isDirectory() ? list(path).flatMap((name) => closePath(join(path, name))) : [];
  try {
    chmodSync(path, found.isDirectory() ? PRIVATE_FOLDER : PRIVATE_FILE);
    return inner;
  } catch {
    return [path, ...inner];
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
