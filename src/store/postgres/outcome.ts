/** What became of a transaction whose COMMIT was sent and whose answer was lost: the server remembers. */

import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';
import { ask } from './pool.ts';

/** Milliseconds between two questions: doubled each time. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;

/** Undefined when it cannot be learned within `patience` milliseconds. */
export async function hasCommitted(pool: Pool, id: string, patience: number): Promise<boolean | undefined> {
  const end = performance.now() + patience;
  for (let pause = FIRST_PAUSE; performance.now() < end; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const status = await statusOf(pool, id);
    if (status === 'committed') return true;
    if (status === 'aborted') return false;
    await wait(pause);
  }
  return undefined;
}

/** `in progress` also where the server cannot be asked now. */
async function statusOf(pool: Pool, id: string): Promise<string> {
  try {
    const question = { text: 'SELECT pg_xact_status(CAST($1 AS xid8)) AS status', values: [id] };
    const { rows } = await ask(pool, question);
    return String(rows[0]?.status);
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'in progress';
    throw error;
  }
}
