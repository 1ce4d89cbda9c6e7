/** Lost store detection: remnants of an earlier gateway without its database, beside which a new store would hide the loss. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GatewayError } from '../core/errors.ts';

/** Folder in the data folder in which a restore prepares its files. */
export const UNFINISHED_RESTORE = 'restoring';

export interface DataFolder {
  folder: string;
  /** Whether the encryption key is the file that the first start creates. */
  ownsKeyFile: boolean;
}

/** Names of the remnants of an earlier gateway in its data folder, without the files that a first start creates before its store. */
export function remnantsOf({ folder, ownsKeyFile }: DataFolder): string[] {
  // Versions without a store kept their keys in a file, which is imported.
  if (existsSync(join(folder, 'keys.jsonl'))) return [];
  const remnants: string[] = [];
  if (ownsKeyFile && existsSync(join(folder, 'encryption.key'))) remnants.push('encryption.key');
  if (hasEntries(join(folder, 'videos'))) remnants.push('videos');
  if (hasEntries(join(folder, UNFINISHED_RESTORE))) remnants.push(UNFINISHED_RESTORE);
  return remnants;
}

/** Whether a file of the store is absent or empty. Throws `unavailable` if this user may not look. */
export function isMissingOrEmpty(path: string): boolean {
  return (sizeOf(path) ?? 0) === 0;
}

/** Size of a file of the store in bytes; undefined if it is absent. Throws `unavailable` if this user may not look. */
export function sizeOf(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    const message =
      `The folder ${dirname(path)} cannot be used: user ${process.geteuid?.() ?? ''} may not read it. ` +
      'Use the user that the gateway runs as, or give the folder to this one.';
    throw new GatewayError('unavailable', message, { cause: error });
  }
}

/** Error `unavailable` for a missing `state.db` beside other files of an earlier gateway. */
export function lostStoreError(folder: string, remnants: readonly string[]): GatewayError {
  const names = remnants.join(' and ');
  return new GatewayError(
    'unavailable',
    `${join(folder, 'state.db')} is missing or empty, but ${names} of an earlier gateway ${remnants.length > 1 ? 'are' : 'is'} there: ` +
      'its keys, tasks and webhooks are gone. To restore, run "polygate restore" with a backup. ' +
      `To start anew on purpose, move ${names} out of it.`,
  );
}

function hasEntries(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false;
  }
}
