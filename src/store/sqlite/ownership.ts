/** One gateway a folder: a lock that the system takes back when its holder dies, however it dies. */

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { GatewayError } from '../../core/errors.ts';
import { engineError } from './failure.ts';

const BUSY = 5;

export interface Ownership {
  release(): void;
}

/** Throws `unavailable` when another gateway runs on the folder. */
export function own(folder: string): Ownership {
  const lock = new DatabaseSync(join(folder, 'lock.db'), { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (((error as { errcode?: number }).errcode ?? 0) % 256 !== BUSY) throw engineError(error);
    throw new GatewayError(
      'unavailable',
      `Another gateway runs on the folder ${folder}. Stop it, or give this one a folder of its own.`,
    );
  }
  return { release: () => lock.close() };
}
