/**
 * What became of a transaction whose COMMIT was sent and whose answer was lost: the server remembers. A server that crashed,
 * or another that took its place, may have given the id of a transaction that was lost to a later one.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import { StoreUnavailable } from '../unavailable.ts';
import { ask } from './pool.ts';

/** Milliseconds between two questions: doubled each time. */
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;

export interface TransactionId {
  id: string;
  /** Of the server that knows it by that id. */
  incarnation: string;
}

/** SQL for what differs after a restart, a crash of a backend (which resets the statistics) and a failover. */
export const INCARNATION = "concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time())";

/** Undefined when it cannot be learned within `patience` milliseconds. */
export async function hasCommitted(
  pool: Pool,
  transaction: TransactionId,
  patience: number,
): Promise<boolean | undefined> {
  const end = performance.now() + patience;
  for (let pause = FIRST_PAUSE; performance.now() < end; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    const status = await statusOf(pool, transaction);
    if (status === 'committed') return true;
    if (status === 'aborted') return false;
    if (status === 'forgotten') return undefined;
    await wait(pause);
  }
  return undefined;
}

/** `in progress` also where the server cannot be asked now. */
async function statusOf(pool: Pool, { id, incarnation }: TransactionId): Promise<string> {
  try {
    const text = `SELECT CASE WHEN ${INCARNATION} = $2 THEN pg_xact_status(CAST($1 AS xid8)) ELSE 'forgotten' END AS status`;
    const question = { text, values: [id, incarnation] };
    const { rows } = await ask(pool, question);
    return String(rows[0]?.status);
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'in progress';
    throw error;
  }
}
