/** Traces of a gateway whose store is gone: starting anew beside them would hide a loss. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GatewayError } from '../core/errors.ts';

export interface DataFolder {
  folder: string;
  /** Whether the encryption key is the file that the first start makes. */
  ownsKeyFile: boolean;
}

/** Names of what an earlier gateway left in its data folder. What the first start makes before its store is none of it. */
export function tracesOf({ folder, ownsKeyFile }: DataFolder): string[] {
  // Versions before the store kept their keys in a file that is taken over.
  if (existsSync(join(folder, 'keys.jsonl'))) return [];
  const traces: string[] = [];
  if (ownsKeyFile && existsSync(join(folder, 'encryption.key'))) traces.push('encryption.key');
  if (hasEntries(join(folder, 'videos'))) traces.push('videos');
  return traces;
}

/** Whether a file of the store is absent or holds nothing. */
export function isVoid(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

export function lostStore(folder: string, traces: readonly string[]): GatewayError {
  const left = traces.join(' and ');
  return new GatewayError(
    'unavailable',
    `${join(folder, 'state.db')} is missing or empty, but ${left} of an earlier gateway ${traces.length > 1 ? 'are' : 'is'} there: ` +
      'its keys, tasks and webhooks are gone. To restore, put state.db and usage.db of a backup into the folder. ' +
      `To start anew on purpose, move ${left} out of it.`,
  );
}

function hasEntries(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return false;
  }
}
