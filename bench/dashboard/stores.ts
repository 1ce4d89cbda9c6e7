/** Stores that are seeded with records, below a gateway that runs as a program. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { addCountFunctions } from '../../src/store/sqlite/transaction.ts';
import {
  ARRAY_COUNTS,
  countTimes,
  FIRST_BOUND_MS,
  noCounts,
  PACKED_COUNTS,
  packCounts,
  TIME_BUCKETS,
} from '../../src/store/time-counts.ts';
import { endedChildrenTime, parentOf, processorTime } from '../host/proc.ts';

export interface SeededStore {
  /** Configuration of the gateway. */
  data: string;
  run(statement: string): Promise<void>;
  /** Result of a statement in a column `n`. */
  count(statement: string): Promise<number>;
  /** Statements that only this engine needs before the records that end until `last`. */
  prepare(last: number): readonly string[];
  /** Rows with the numbers from `first` to `last` in a column `n`. */
  numbers(first: number, last: number): string;
  /** An integer as text, in hexadecimal. */
  hex(value: string, digits: number): string;
  /** The column of times in a sum: of requests, and of sums. */
  times: { ofRequests: string; ofSums: string };
  /** Processor time of the server's processes, those that have ended included, in microseconds; 0 without one on this machine. */
  serverTime(): number;
  close(): Promise<void>;
}

export const ENGINES = ['sqlite', 'postgres'] as const;
export type Engine = (typeof ENGINES)[number];

/** `place` is the data folder, or the URL of a database that stays; by default it ends with the benchmark. */
export function openSeededStore(engine: Engine, place: string | undefined, folder: string): Promise<SeededStore> {
  return engine === 'postgres' ? openPostgres(place) : Promise.resolve(openSqlite(place ?? join(folder, 'data')));
}

export function openSqlite(data: string): SeededStore {
  let database: DatabaseSync | undefined;
  const opened = () => {
    database ??= withCounts(new DatabaseSync(join(data, 'usage.db'), { timeout: 5000 }));
    return database;
  };
  return {
    data,
    prepare: () => ['PRAGMA synchronous = off'],
    async run(statement) {
      opened().exec(statement);
    },
    async count(statement) {
      return Number(opened().prepare(statement).get()?.n);
    },
    numbers: (first, last) =>
      `(WITH RECURSIVE number(n) AS (SELECT ${first} UNION ALL SELECT n + 1 FROM number WHERE n < ${last}) SELECT n FROM number)`,
    hex: (value, digits) => `printf('%0${digits}x', ${value})`,
    times: { ofRequests: 'counted_times(first_byte_ms, total_ms)', ofSums: PACKED_COUNTS.total('times') },
    // Threads of the gateway do its work.
    serverTime: () => 0,
    async close() {
      database?.close();
    },
  };
}

function withCounts(connection: DatabaseSync): DatabaseSync {
  addCountFunctions(connection);
  connection.aggregate('counted_times', {
    start: noCounts as never,
    step: ((counts: number[], first_byte_ms: number | null, total_ms: number) => {
      countTimes(counts, { protocol_in: 'chat', first_byte_ms, total_ms }, 1);
      return counts;
    }) as never,
    result: packCounts as never,
  });
  return connection;
}

async function openPostgres(place: string | undefined): Promise<SeededStore> {
  const server = place === undefined ? await startServer() : { url: place, close: async () => {} };
  const client = new Client({ connectionString: server.url });
  await client.connect();
  const count = async (statement: string) => Number((await client.query(statement)).rows[0]?.n);
  const postmaster = postmasterOf(await count('SELECT pg_backend_pid() AS n'));
  return {
    data: server.url,
    prepare: (last) =>
      monthsBefore(last).map(
        ({ name, from, to }) =>
          `CREATE TABLE IF NOT EXISTS usage_request_${name} PARTITION OF usage_request FOR VALUES FROM (${from}) TO (${to})`,
      ),
    async run(statement) {
      await client.query(statement);
    },
    count,
    numbers: (first, last) => `generate_series(${first}::bigint, ${last}) AS number(n)`,
    hex: (value, digits) => `lpad(to_hex(${value}), ${digits}, '0')`,
    times: {
      ofRequests: `ARRAY[${[...bucketCounts('first_byte_ms'), ...bucketCounts('total_ms')].join(', ')}]`,
      ofSums: `CAST(${ARRAY_COUNTS.total('times')} AS integer[])`,
    },
    serverTime: () => (postmaster === undefined ? 0 : processorTime(postmaster) + endedChildrenTime(postmaster)),
    async close() {
      await client.end();
      await server.close();
    },
  };
}

/** Counts of the rows whose time is in each bucket; null for none. */
function bucketCounts(column: string): string[] {
  return Array.from({ length: TIME_BUCKETS }, (_, index) => {
    const bounds = [
      ...(index > 0 ? [`${column} >= ${FIRST_BOUND_MS * 2 ** (index - 1)}`] : []),
      ...(index < TIME_BUCKETS - 1 ? [`${column} < ${FIRST_BOUND_MS * 2 ** index}`] : []),
    ];
    return `NULLIF(CAST(count(*) FILTER (WHERE ${bounds.join(' AND ')}) AS integer), 0)`;
  });
}

/** With the memory that a server has by default. */
async function startServer(): Promise<{ url: string; close(): Promise<void> }> {
  const { startPrimary } = await import('../../test/chaos/postgres-cluster.ts');
  const { openStage } = await import('../../test/chaos/stage.ts');
  const { stage, close } = openStage();
  const { url } = await startPrimary(stage, ['shared_buffers=128MB', 'fsync=off']);
  return { url, close };
}

/** Undefined if the server is on another machine. */
function postmasterOf(backend: number): number | undefined {
  try {
    if (!/^postgres/.test(readFileSync(`/proc/${backend}/cmdline`, 'utf8').replace(/^.*\//, ''))) return undefined;
    return parentOf(backend);
  } catch {
    return undefined;
  }
}

/** Months that a gateway would have made ahead in their time. */
function monthsBefore(moment: number): { name: string; from: number; to: number }[] {
  const date = new Date(moment);
  return [1, 2, 3, 4].map((ago) => {
    const from = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - ago);
    const name = new Date(from).toISOString().slice(0, 7).replace('-', '_');
    return { name, from, to: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - ago + 1) };
  });
}
