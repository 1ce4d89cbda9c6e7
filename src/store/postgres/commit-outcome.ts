/**
 * Outcome of a transaction whose COMMIT was sent but not acknowledged: the server is asked by transaction id. After a crash
 * or a failover the id may belong to another transaction, so it is only valid on the same incarnation of the server.
 */

import type { Pool } from 'pg';
import { type Clock, sleep } from '../../core/clock.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { runQuery } from './pool.ts';

/** Delay between two queries: doubled each time. */
const MIN_POLL_DELAY_MS = 20;
const MAX_POLL_DELAY_MS = 1_000;

export interface TransactionId {
  id: string;
  /** Incarnation of the server on which the id is valid. */
  incarnation: string;
}

/** SQL expression that changes after a restart, a crash of a backend (which resets the statistics) and a failover. */
export const SERVER_INCARNATION_SQL = "concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time())";

/** Undefined if the outcome cannot be determined within `timeoutMs`. */
export async function hasCommitted(
  pool: Pool,
  transaction: TransactionId,
  { timeoutMs, clock }: { timeoutMs: number; clock: Pick<Clock, 'monotonic' | 'after'> },
): Promise<boolean | undefined> {
  const deadline = clock.monotonic() + timeoutMs;
  for (
    let delayMs = MIN_POLL_DELAY_MS;
    clock.monotonic() < deadline;
    delayMs = Math.min(2 * delayMs, MAX_POLL_DELAY_MS)
  ) {
    const status = await statusOf(pool, transaction);
    if (status === 'committed') return true;
    if (status === 'aborted') return false;
    if (status === 'forgotten') return undefined;
    await sleep(clock, delayMs);
  }
  return undefined;
}

/** `in progress` also while the server is unreachable. */
async function statusOf(pool: Pool, { id, incarnation }: TransactionId): Promise<string> {
  try {
    const text = `SELECT CASE WHEN ${SERVER_INCARNATION_SQL} = $2 THEN pg_xact_status(CAST($1 AS xid8)) ELSE 'forgotten' END AS status`;
    const query = { text, values: [id, incarnation] };
    const { rows } = await runQuery(pool, query);
    return String(rows[0]?.status);
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'in progress';
    throw error;
  }
}
