/** What requests used: intents before they are sent, records after, sums, and what is kept of them. */

import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { addUsage, GROUPINGS, type Grouping, type UsageRow } from '../usage-rows.ts';

/** A request on its way, as it is stored. */
export interface InflightRow {
  id: string;
  instance: string;
  started_at: number;
  /** JSON of the record it becomes if the gateway dies. */
  record: string;
}

export interface Finished {
  row: UsageRow;
  /** There is an intent of it; without, nobody else can have recorded it. */
  begun: boolean;
}

/** One flush: what has begun and what is finished since the last. May be repeated when nobody knows whether it was done. */
export const recordUsage = writing<{ begun: InflightRow[]; finished: Finished[]; withdrawn?: string[] }, void>(
  'usage',
  async (transaction, { begun, finished, withdrawn = [] }) => {
    if (begun.length > 0) await transaction.insert('inflight', begun.map(plainRow), { ignoreDuplicates: true });
    const intended = finished.filter((one) => one.begun).map(({ row }) => row);
    const others = finished.filter((one) => !one.begun).map(({ row }) => row);
    await endIntents(transaction, withdrawn);
    const ended = await endIntents(
      transaction,
      intended.map(({ id }) => id),
    );
    const known = await recorded(transaction, others);
    await addUsage(transaction, [
      ...intended.filter(({ id }) => ended.has(id)),
      ...others.filter(({ id }) => !known.has(id)),
    ]);
  },
);

/** The requests that dead gateways left behind, as records of what they were to become. */
export const recoverUsage = writing<{ now: number }, number>('usage', async (transaction, { now }) => {
  const dead = await transaction.all(
    `DELETE FROM inflight WHERE instance NOT IN (SELECT id FROM instance WHERE heartbeat_until > :now)
     RETURNING id, started_at, record`,
    { now },
  );
  const records = dead.map(({ started_at, record }) => interrupted(String(record), now - Number(started_at)));
  await addUsage(transaction, records);
  return records.length;
});

/** The record of a request by our id of it, or by what the upstream called its answer. */
export const usageRecord = reading<{ id: string; keyId: string }, Row | undefined>(
  'usage',
  async (transaction, { id, keyId }) => {
    const sql = (column: string) =>
      `SELECT *, CAST(cost AS text) AS cost FROM usage_record WHERE ${column} = :id AND key_id = :keyId
       ORDER BY started_at DESC LIMIT 1`;
    const [found] = await transaction.all(sql('id'), { id, keyId });
    return found ?? (await transaction.all(sql('upstream_id'), { id, keyId }))[0];
  },
);

export interface SumsOf {
  /** Absent means every key. */
  keyId?: string;
  /** Hours since 1970, the last one not included. */
  from: number;
  to: number;
  by: Grouping[];
}

/** Sums over hours; `cost` is text. */
export const usageSums = reading<SumsOf, Row[]>('usage', (transaction, { keyId, from, to, by }) => {
  const groups = by.map((name) => `${GROUPINGS[name]} AS "${name}"`);
  const places = by.map((_, index) => index + 1).join(', ');
  const counts = ['requests', 'failures', 'input_tokens', 'output_tokens', 'cached_tokens', 'cache_write_tokens'];
  const sums = [...counts, 'reasoning_tokens'].map((name) => `CAST(SUM(${name}) AS bigint) AS ${name}`);
  const sql = `SELECT ${[...groups, ...sums, 'CAST(SUM(cost) AS text) AS cost'].join(', ')} FROM usage_hour
    WHERE hour >= :from AND hour < :to ${keyId === undefined ? '' : 'AND key_id = :keyId'}
    ${by.length > 0 ? `GROUP BY ${places} ORDER BY ${places}` : 'HAVING COUNT(*) > 0'}`;
  return transaction.all(sql, keyId === undefined ? { from, to } : { from, to, keyId });
});

/** What a key has spent since each beginning, as text in 1e-12 USD. */
export const spentBy = reading<{ keyId: string; starts: { period: string; startsAt: number }[] }, Row[]>(
  'usage',
  async (transaction, { keyId, starts }) => {
    const sql = `SELECT period, CAST(spent AS text) AS spent FROM budget
      WHERE key_id = :keyId AND period = :period AND starts_at = :startsAt`;
    const found: Row[] = [];
    for (const { period, startsAt } of starts) found.push(...(await transaction.all(sql, { keyId, period, startsAt })));
    return found;
  },
);

/** How many records there are by day, from the sums. */
export const usageByDay = reading<object, Row[]>('usage', (transaction) =>
  transaction.all(
    `SELECT hour / 24 AS day, CAST(SUM(requests) AS bigint) AS records FROM usage_hour GROUP BY 1 ORDER BY 1 DESC`,
  ),
);

/** Removes some of the records of days before one; 0 when there are no more. */
export const pruneUsage = writing<{ day: number; most: number }, number>('usage', (transaction, { day, most }) =>
  transaction.run(
    `DELETE FROM usage_record WHERE day < :day AND id IN
     (SELECT id FROM usage_record WHERE day < :day ORDER BY day, id LIMIT :most)`,
    { day, most },
  ),
);

/** Those whose intents were still there: the others were recorded by whoever took this gateway for dead, or by an earlier try. */
async function endIntents(transaction: Transaction, ids: readonly string[]): Promise<Set<string>> {
  const ended = new Set<string>();
  for (const [names, marks] of groupsOf(ids)) {
    const gone = await transaction.all(`DELETE FROM inflight WHERE id IN (${marks}) RETURNING id`, names);
    for (const { id } of gone) ended.add(String(id));
  }
  return ended;
}

async function recorded(transaction: Transaction, rows: UsageRow[]): Promise<Set<string>> {
  const known = new Set<string>();
  for (const [names, marks] of groupsOf(rows.map(({ id }) => id))) {
    const found = await transaction.all(`SELECT id FROM usage_record WHERE id IN (${marks})`, names);
    for (const { id } of found) known.add(String(id));
  }
  return known;
}

/** Few sizes of lists, so that there are few statements to prepare: short ones are filled up with their last id. */
const SIZES = [1, 8, 64, 512];

function groupsOf(ids: readonly string[]): [Row, string][] {
  const groups: [Row, string][] = [];
  for (let start = 0; start < ids.length; ) {
    const size = SIZES.find((candidate) => candidate >= ids.length - start) ?? 512;
    const part = ids.slice(start, start + size);
    const padded = Array.from({ length: size }, (_, index) => part[index] ?? (part.at(-1) as string));
    const names = Object.fromEntries(padded.map((id, index) => [`id${index}`, id]));
    groups.push([names, padded.map((_, index) => `:id${index}`).join(', ')]);
    start += size;
  }
  return groups;
}

function interrupted(record: string, age: number): UsageRow {
  const { cost, ...row } = JSON.parse(record);
  return { ...row, cost: BigInt(cost), status: 'interrupted', estimated: 1, total_ms: Math.max(0, age) };
}

function plainRow({ id, instance, started_at, record }: InflightRow): Row {
  return { id, instance, started_at, record };
}
