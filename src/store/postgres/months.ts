/**
 * Months of request records: partitions of `usage_request`, made ahead by the first gateway that needs one, and dropped as a
 * whole. Rows of a month that has no partition are in `usage_request_rest`, and move when it gets one.
 */

import type { PoolClient } from 'pg';
import type { Clock } from '../../core/clock.ts';
import { isLockTimeout, isStatementTimeout } from './failure.ts';
import { runQuery } from './pool.ts';

/** Key of the advisory lock; arbitrary, but unique on the database. */
const MONTHS_LOCK_ID = 7_072_027;
/** Longest wait for the lock of a table: others wait behind it. */
const LOCK_TIMEOUT_MS = 1_000;
const CHECK_INTERVAL_MS = 6 * 3600 * 1000;
/** Interval while somebody reads a table: the more rows a month has elsewhere, the longer it takes to make. */
const RETRY_INTERVAL_MS = 60_000;
/** Months made ahead of their beginning. */
const MONTHS_AHEAD = 1;
/** Rows of a month beyond which its old rows wait for the end of the month instead of being deleted one by one. */
const MAX_DELETED_ROWS = 1_000_000;
const MONTH_TABLE = /^usage_request_(\d{4})_(\d{2})$/;

interface Month {
  table: string;
  /** Unix milliseconds; `to` is exclusive. */
  from: number;
  to: number;
}

export interface MonthKeeper {
  /** Makes the first months. What takes too long is done later: rows have a place until then. */
  begin(): Promise<void>;
  stop(): void;
}

/** Repeats `prepare` at intervals. */
export function keepMonths(prepare: () => Promise<void>, clock: Pick<Clock, 'after'>): MonthKeeper {
  let isStopped = false;
  let cancel = () => {};
  function schedule(milliseconds: number): void {
    if (!isStopped) cancel = clock.after(milliseconds, () => void run().catch(() => undefined), { background: true });
  }

  async function run(): Promise<void> {
    try {
      await prepare();
      schedule(CHECK_INTERVAL_MS);
    } catch (error) {
      schedule(isLockTimeout(error) ? RETRY_INTERVAL_MS : CHECK_INTERVAL_MS);
      if (!isLockTimeout(error) && !isStatementTimeout(error)) throw error;
    }
  }

  return {
    begin: run,
    stop() {
      isStopped = true;
      cancel();
    },
  };
}

/** Makes the partitions of this month and the next, inside a transaction. Does nothing on a schema without partitions. */
export async function prepareMonths(client: PoolClient, now: number): Promise<void> {
  const known = await partitions(client);
  if (known === undefined) return;
  const months = Array.from({ length: MONTHS_AHEAD + 1 }, (_, ahead) => monthOf(now, ahead));
  if (months.every(({ table }) => known.has(table))) return;
  await lock(client);
  const missing = await partitions(client);
  for (const month of months) if (!missing?.has(month.table)) await addMonth(client, month);
}

/** Drops the months that ended before a timestamp, inside a transaction. Returns their number of rows, which may be an estimate. */
export async function dropMonths(client: PoolClient, before: number): Promise<number> {
  const known = await partitions(client);
  const over = [...(known ?? [])].filter(([table]) => (monthNamed(table)?.to ?? Number.POSITIVE_INFINITY) <= before);
  if (over.length === 0) return 0;
  await lock(client);
  let dropped = 0;
  const left = await partitions(client);
  for (const [table, rows] of over) {
    if (!left?.has(table)) continue;
    dropped += rows > MAX_DELETED_ROWS ? rows : await countRows(client, table);
    await runQuery(client, `DROP TABLE ${table}`);
  }
  return dropped;
}

/** Whether a month has too many rows to delete some of them. */
export async function isLargeMonth(client: PoolClient, moment: number): Promise<boolean> {
  const known = await partitions(client);
  return (known?.get(monthOf(moment, 0).table) ?? 0) > MAX_DELETED_ROWS;
}

/** Estimated rows of each partition; undefined if the table has none. */
async function partitions(client: PoolClient): Promise<Map<string, number> | undefined> {
  const text = `SELECT child.relname AS name, child.reltuples AS rows FROM pg_class AS parent
    LEFT JOIN pg_inherits ON inhparent = parent.oid LEFT JOIN pg_class AS child ON child.oid = inhrelid
    WHERE parent.oid = to_regclass('usage_request') AND parent.relkind = 'p'`;
  const { rows } = await runQuery(client, text);
  if (rows.length === 0) return undefined;
  return new Map(rows.map(({ name, rows }) => [String(name), Number(rows)]));
}

async function lock(client: PoolClient): Promise<void> {
  await runQuery(client, `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await runQuery(client, `SELECT pg_advisory_xact_lock(${MONTHS_LOCK_ID})`);
}

/** Only writers of rows without a month wait until the transaction ends. */
async function addMonth(client: PoolClient, { table, from, to }: Month): Promise<void> {
  const range = `at >= ${from} AND at < ${to}`;
  // Before rows are moved, because it fails while somebody reads the table. The move itself needs a weaker lock.
  await runQuery(client, 'SAVEPOINT free; LOCK TABLE usage_request_rest IN ACCESS EXCLUSIVE MODE; ROLLBACK TO free');
  await runQuery(client, 'LOCK TABLE usage_request_rest IN SHARE ROW EXCLUSIVE MODE');
  await runQuery(client, `CREATE TABLE ${table} (LIKE usage_request INCLUDING ALL, CHECK (${range}))`);
  await runQuery(
    client,
    `WITH moved AS (DELETE FROM usage_request_rest WHERE ${range} RETURNING *) INSERT INTO ${table} SELECT * FROM moved`,
  );
  await runQuery(client, `ALTER TABLE usage_request ATTACH PARTITION ${table} FOR VALUES FROM (${from}) TO (${to})`);
}

async function countRows(client: PoolClient, table: string): Promise<number> {
  const { rows } = await runQuery(client, `SELECT count(*) AS n FROM ${table}`);
  return Number(rows[0]?.n);
}

function monthOf(moment: number, ahead: number): Month {
  const date = new Date(moment);
  const from = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead);
  const to = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead + 1);
  const table = `usage_request_${new Date(from).toISOString().slice(0, 7).replace('-', '_')}`;
  return { table, from, to };
}

function monthNamed(table: string): Month | undefined {
  const [, year, month] = MONTH_TABLE.exec(table) ?? [];
  return year === undefined ? undefined : monthOf(Date.UTC(Number(year), Number(month) - 1), 0);
}
