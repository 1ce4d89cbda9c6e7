/**
 * Daily sums: 24 hours from `start` on, made from the hourly sums in steps of bounded length. A change of an hour deletes the
 * state of the days that include it (a trigger, so that every version does it), and with it the right of a build to go on.
 */

import { type Row, reading, scanning, type Transaction, writing } from '../operation.ts';
import { saturate } from '../sum-changes.ts';
import { DAY_HOURS } from '../sum-source.ts';
import { DAY_TABLES, type DayTable, HOUR_SUM_COLUMNS, TIMES_COLUMN } from '../usage-columns.ts';
import { sumColumns, sumOf } from '../usage-sums.ts';

/** A build of the sums of one day. */
export interface DayBuild {
  /** First hour of the day, in hours since 1970. */
  start: number;
  build: string;
}

export interface DayStep extends DayBuild {
  /** Unix milliseconds until which no other build may begin. */
  until: number;
}

export interface DaySearch {
  /** Hours since 1970: the day ends by then. */
  end: number;
  /** First hour of the day, in hours after that of UTC. */
  firstHour: number;
  /** Unix milliseconds. */
  now: number;
}

/** Start of the latest day that has hourly sums, but neither daily ones nor a build of them; undefined if there is none. */
export const dayToSum = reading<DaySearch, number | undefined>('usage', async (transaction, search) => {
  const { end, firstHour, now } = search;
  const first = 'CAST(:firstHour AS bigint)';
  const latest = (before: string) =>
    `((SELECT MAX(hour) FROM usage_hour WHERE hour < ${before}) - ${first}) / ${DAY_HOURS} * ${DAY_HOURS} + ${first}`;
  const [row] = await transaction.all(
    `WITH RECURSIVE day(start) AS (
       SELECT ${latest('CAST(:end AS bigint)')} UNION ALL SELECT ${latest('day.start')} FROM day WHERE day.start IS NOT NULL)
     SELECT start FROM day WHERE start IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM usage_day_state AS known
         WHERE known.start = day.start AND (known.complete = 1 OR known.until > :now)) LIMIT 1`,
    { end: end - ((end - firstHour) % DAY_HOURS), firstHour, now },
  );
  return row === undefined ? undefined : Number(row.start);
});

export interface AskedZones {
  firstHours: number[];
  /** Unix milliseconds. */
  now: number;
}

/** Time after which a zone is noted again. */
const NOTE_INTERVAL_MS = 3_600_000;

/** Notes that reports were asked by days which begin at these hours. */
export const noteZones = writing<AskedZones, void>('usage', async (transaction, { firstHours, now }) => {
  for (const firstHour of firstHours) {
    await transaction.run(
      `INSERT INTO usage_day_zone (first_hour, asked_at) VALUES (:firstHour, :now)
       ON CONFLICT (first_hour) DO UPDATE SET asked_at = excluded.asked_at WHERE usage_day_zone.asked_at < :noted`,
      { firstHour, now, noted: now - NOTE_INTERVAL_MS },
    );
  }
});

/** First hours of days by which reports were asked since a time, the latest first. */
export const askedZones = reading<{ since: number; limit: number }, number[]>('usage', async (transaction, values) => {
  const sql =
    'SELECT first_hour FROM usage_day_zone WHERE asked_at >= :since ORDER BY asked_at DESC, first_hour LIMIT :limit';
  return (await transaction.all(sql, values)).map(({ first_hour }) => Number(first_hour));
});

/** Begins a build. False if the day has its sums, or another build makes them. */
export const claimDay = writing<DayStep & { now: number }, boolean>('usage', async (transaction, values) => {
  const changed = await transaction.run(
    `INSERT INTO usage_day_state (start, build, until, complete) VALUES (:start, :build, :until, 0)
     ON CONFLICT (start) DO UPDATE SET build = excluded.build, until = excluded.until
     WHERE usage_day_state.complete = 0 AND usage_day_state.until <= :now`,
    { ...values },
  );
  return changed > 0;
});

/** Transactions that have changed hourly sums and are open: those from before a claim do not see it. Only of PostgreSQL. */
export const sumWriters = reading<object, string[]>('usage', async (transaction) => {
  const rows = await transaction.all(
    `SELECT virtualtransaction AS id FROM pg_locks
     WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND relation = CAST(to_regclass('usage_hour') AS oid)`,
  );
  return rows.map(({ id }) => String(id));
});

/** Deletes up to `limit` sums of an earlier build from each table; returns their number, or undefined if the build may not go on. */
export const clearDay = writing<DayStep & { limit: number }, number | undefined>(
  'usage',
  async (transaction, { limit, ...step }) => {
    return (await goesOn(transaction, step)) ? deleteSums(transaction, { start: step.start, limit }) : undefined;
  },
);

export interface DayPage {
  table: DayTable;
  start: number;
  limit: number;
  /** Last row of the page before. */
  after?: Row;
}

/** Sums of the hours of a day, in the order of their keys. */
export const sumsOfDay = scanning<DayPage, Row[]>('usage', async (transaction, { table, start, limit, after }) => {
  const { keys, hours, hasTimes } = DAY_TABLES[table];
  const columns = keys.join(', ');
  const values: Row = { start, stop: start + DAY_HOURS, limit };
  for (const name of after ? keys : []) values[name] = after?.[name] ?? '';
  const later = after ? `AND (${columns}) > (${keys.map((name) => `CAST(:${name} AS text)`).join(', ')})` : '';
  const sums = HOUR_SUM_COLUMNS.map((name) => sumColumns(name));
  if (hasTimes) sums.push(`${transaction.counts.total(TIMES_COLUMN)} AS ${TIMES_COLUMN}`);
  const rows = await transaction.all(
    `SELECT ${columns}, ${sums.join(', ')} FROM ${hours}
     WHERE hour >= :start AND hour < :stop ${later} GROUP BY ${columns} ORDER BY ${columns} LIMIT :limit`,
    values,
  );
  return rows.map((row) => ({
    start,
    ...Object.fromEntries(keys.map((name) => [name, row[name] ?? ''])),
    ...Object.fromEntries(HOUR_SUM_COLUMNS.map((name) => [name, saturate(sumOf(row, name))])),
    ...(hasTimes && { [TIMES_COLUMN]: row[TIMES_COLUMN] ?? null }),
  }));
});

/** Stores sums. False if the build may not go on. */
export const addDaySums = writing<DayStep & { table: DayTable; rows: Row[] }, boolean>(
  'usage',
  async (transaction, { table, rows, ...step }) => {
    if (!(await goesOn(transaction, step))) return false;
    await transaction.insert(table, rows);
    return true;
  },
);

/** Completes a build: reports then read the sums of the day. False if they changed during the build. */
export const completeDay = writing<DayBuild, boolean>('usage', async (transaction, { start, build }) => {
  const sql = 'UPDATE usage_day_state SET complete = 1 WHERE start = :start AND build = :build AND complete = 0';
  return (await transaction.run(sql, { start, build })) > 0;
});

/** Invalidates the sums of days that end later than `end`: the clock was set back. */
export const forgetDaysAfter = writing<{ end: number }, number>('usage', (transaction, { end }) =>
  transaction.run(`DELETE FROM usage_day_state WHERE start > :end - ${DAY_HOURS}`, { end }),
);

/** First hour of days by which no report has asked since a time; undefined if there is none. */
export const unaskedZone = reading<{ since: number }, number | undefined>('usage', async (transaction, values) => {
  const sql = 'SELECT first_hour FROM usage_day_zone WHERE asked_at < :since ORDER BY first_hour LIMIT 1';
  const [row] = await transaction.all(sql, values);
  return row && Number(row.first_hour);
});

/** Start of the next day with this first hour of which there is a state or a sum; undefined if there is none. */
export const nextDayOfZone = reading<{ firstHour: number; after: number }, number | undefined>(
  'usage',
  async (transaction, values) => {
    const next = ['usage_day_state', ...Object.keys(DAY_TABLES)].map(
      (table) => `SELECT MIN(start) AS start FROM ${table} WHERE start > day.start`,
    );
    const [row] = await transaction.all(
      `WITH RECURSIVE day(start) AS (
         SELECT CAST(:after AS bigint)
         UNION ALL SELECT (SELECT MIN(start) FROM (${next.join(' UNION ALL ')}) AS next) FROM day WHERE day.start IS NOT NULL)
       SELECT start FROM day WHERE start > :after AND start % ${DAY_HOURS} = :firstHour LIMIT 1`,
      values,
    );
    return row && Number(row.start);
  },
);

/** Deletes the state of a day and up to `limit` sums of it from each table. Returns the number of sums; 0 if a report has asked by its zone since. */
export const forgetDayOfZone = writing<{ start: number; since: number; limit: number }, number>(
  'usage',
  async (transaction, { start, since, limit }) => {
    const sql = 'SELECT 1 FROM usage_day_zone WHERE first_hour = :firstHour AND asked_at < :since';
    if ((await transaction.all(sql, { firstHour: start % DAY_HOURS, since })).length === 0) return 0;
    await transaction.run('DELETE FROM usage_day_state WHERE start = :start', { start });
    return deleteSums(transaction, { start, limit });
  },
);

/** Once its days are deleted. */
export const forgetZone = writing<{ firstHour: number; since: number }, number>('usage', (transaction, values) =>
  transaction.run('DELETE FROM usage_day_zone WHERE first_hour = :firstHour AND asked_at < :since', { ...values }),
);

/** Returns the number of deleted sums. */
async function deleteSums(transaction: Transaction, values: { start: number; limit: number }): Promise<number> {
  let deleted = 0;
  for (const [table, { keys }] of Object.entries(DAY_TABLES)) {
    const columns = ['start', ...keys].join(', ');
    deleted += await transaction.run(
      `DELETE FROM ${table} WHERE start = :start AND (${columns}) IN
       (SELECT ${columns} FROM ${table} WHERE start = :start ORDER BY ${columns} LIMIT :limit)`,
      values,
    );
  }
  return deleted;
}

/** Extends the claim; holds off changes of the hours of the day until the transaction ends. */
async function goesOn(transaction: Transaction, { start, build, until }: DayStep): Promise<boolean> {
  const sql = 'UPDATE usage_day_state SET until = :until WHERE start = :start AND build = :build AND complete = 0';
  return (await transaction.run(sql, { start, build, until })) > 0;
}
