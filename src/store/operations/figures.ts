/** Figures of the operation of a gateway: jobs by kind, gateways that are alive, and the size of the store. */

import { type Database, reading, scanning, type Transaction } from '../operation.ts';

export interface JobFigures {
  kind: string;
  /** Jobs that are due and not leased. */
  due: number;
  /** Due time of the oldest of these, in Unix milliseconds. */
  oldestDueAt?: number;
  /** Jobs that a gateway is running. */
  leased: number;
  /** Time at which the next of their leases ends, in Unix milliseconds. */
  leaseEndsAt?: number;
}

/** Jobs that are due or leased, by kind. */
export const jobFigures = scanning<{ now: number }, JobFigures[]>('state', async (transaction, values) => {
  const rows = await transaction.all(
    `SELECT kind,
       sum(CASE WHEN lease_until > :now THEN 0 ELSE 1 END) AS due,
       min(CASE WHEN lease_until > :now THEN NULL ELSE due_at END) AS oldest,
       sum(CASE WHEN lease_until > :now THEN 1 ELSE 0 END) AS leased,
       min(CASE WHEN lease_until > :now THEN lease_until ELSE NULL END) AS ends
     FROM job WHERE due_at <= :now OR lease_until > :now GROUP BY kind ORDER BY kind`,
    values,
  );
  return rows.map(({ kind, due, oldest, leased, ends }) => ({
    kind: String(kind),
    due: Number(due),
    ...(oldest !== null && { oldestDueAt: Number(oldest) }),
    leased: Number(leased),
    ...(ends !== null && { leaseEndsAt: Number(ends) }),
  }));
});

export interface LiveInstance {
  /** Id of the process; the id of a worker begins with the id of its primary and `/`. */
  id: string;
  /** Version of the process; absent for a process older than this column. */
  version?: string;
  /** Unix milliseconds. */
  startedAt: number;
  /** Time until which it counts as alive. */
  heartbeatUntil: number;
}

/** Gateways and workers that are alive, oldest first. */
export const liveInstances = reading<{ now: number; limit: number }, LiveInstance[]>(
  'usage',
  async (transaction, values) => {
    const rows = await transaction.all(
      `SELECT id, version, started_at, heartbeat_until FROM instance WHERE heartbeat_until > :now
       ORDER BY started_at, id LIMIT :limit`,
      values,
    );
    return rows.map((row) => ({
      id: String(row.id),
      ...(row.version !== null && { version: String(row.version) }),
      startedAt: Number(row.started_at),
      heartbeatUntil: Number(row.heartbeat_until),
    }));
  },
);

interface EngineName {
  engine: 'sqlite' | 'postgres';
}

/** Size on disk in bytes. In PostgreSQL both are one database, which is counted as that of the state. */
export const stateBytes = reading<EngineName, number>('state', (transaction, { engine }) =>
  bytesOf(transaction, engine, 'state'),
);

export const usageBytes = reading<EngineName, number>('usage', (transaction, { engine }) =>
  bytesOf(transaction, engine, 'usage'),
);

async function bytesOf(transaction: Transaction, engine: EngineName['engine'], database: Database): Promise<number> {
  if (engine === 'postgres' && database === 'usage') return 0;
  const sql =
    engine === 'postgres'
      ? 'SELECT pg_database_size(current_database()) AS bytes'
      : 'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()';
  const [row] = await transaction.all(sql);
  return Number(row?.bytes ?? 0);
}
