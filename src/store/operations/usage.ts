/** Usage records: write-ahead intents, records, sums and retention. */

import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { findRequest, keyBatches } from '../request-rows.ts';
import type { UsageRow } from '../usage-row.ts';
import { addRequests, replaceRequests } from '../usage-rows.ts';

/** Write-ahead intent of a request. */
export interface InflightRow {
  id: string;
  instance: string;
  started_at: number;
  /** JSON of the record that is written if the gateway dies. */
  record: string;
}

export interface FinishedUsage {
  row: UsageRow;
  /** An intent was written; without one, no other gateway can have recorded the request. */
  begun: boolean;
}

/** An intent whose request was not sent. */
export type WithdrawnIntent = Pick<InflightRow, 'id' | 'started_at'>;

export interface UsageGroup {
  begun: InflightRow[];
  finished: FinishedUsage[];
  withdrawn?: WithdrawnIntent[];
  /** Place of the group among those of its instance; each try of a group has the same. */
  turn?: { instance: string; number: number };
}

/** One flush of intents and records. Idempotent: may be repeated if the outcome is unknown. */
export const recordUsage = writing<UsageGroup, void>('usage', async (transaction, group) => {
  const { begun, finished, withdrawn = [], turn } = group;
  if (turn && transaction.forUpdate !== '') await takeTurn(transaction, turn);
  if (begun.length > 0) await transaction.insert('inflight', begun.map(intentRow), { ignoreDuplicates: true });
  const intended = finished.filter((one) => one.begun).map(({ row }) => row);
  const others = finished.filter((one) => !one.begun).map(({ row }) => row);
  const ended = await deleteIntents(
    transaction,
    [...withdrawn, ...intended].map(({ id }) => id),
  );
  const known = await recordedIds(transaction, others);
  await addRequests(transaction, [
    ...intended.filter(({ id }) => ended.has(id)),
    ...others.filter(({ id }) => !known.has(id)),
  ]);
  await correctInterrupted(
    transaction,
    intended.filter(({ id }) => !ended.has(id)),
    withdrawn.filter(({ id }) => !ended.has(id)),
  );
});

/** An earlier try of the group that reaches the server later has no effect. */
async function takeTurn(transaction: Transaction, turn: Required<UsageGroup>['turn']): Promise<void> {
  await transaction.run('UPDATE instance SET flush = :number WHERE id = :instance AND flush < :number', turn);
}

/** Converts the intents of dead gateways, or one of them, to `interrupted` records. */
export const recoverUsage = writing<{ now: number; id?: string }, number>('usage', async (transaction, { now, id }) => {
  const dead = await transaction.all(
    `DELETE FROM inflight WHERE ${IS_ORPHANED} ${id === undefined ? '' : 'AND id = :id'}
     RETURNING id, started_at, record`,
    id === undefined ? { now } : { now, id },
  );
  const records = dead.map(({ started_at, record }) => interruptedRow(String(record), now - Number(started_at)));
  await addRequests(transaction, records);
  return records.length;
});

const IS_ORPHANED = 'instance NOT IN (SELECT id FROM instance WHERE heartbeat_until > :now)';

/** Up to `limit` intents of dead gateways. */
export const orphanedIntents = reading<{ now: number; limit: number }, { id: string; record: string }[]>(
  'usage',
  async (transaction, values) => {
    const rows = await transaction.all(
      `SELECT id, record FROM inflight WHERE ${IS_ORPHANED} ORDER BY id LIMIT :limit`,
      values,
    );
    return rows.map(({ id, record }) => ({ id: String(id), record: String(record) }));
  },
);

export interface RefusedRecord {
  id: string;
  /** Unix milliseconds. */
  now: number;
  problem: string;
  /** JSON. */
  record: string;
}

/** Limit of stored refused records; later ones are only logged. */
const MAX_REFUSED_RECORDS = 10_000;

/** Stores a refused record in a separate table and deletes its intent. False if the table is full. */
export const setAsideUsageRecord = writing<RefusedRecord, boolean>(
  'usage',
  async (transaction, { id, now, problem, record }) => {
    await transaction.run('DELETE FROM inflight WHERE id = :id', { id });
    const [row] = await transaction.all('SELECT COUNT(*) AS n FROM usage_refused');
    if (Number(row?.n) >= MAX_REFUSED_RECORDS) return false;
    await transaction.insert('usage_refused', [{ id, refused_at: now, problem, record }], { ignoreDuplicates: true });
    return true;
  },
);

/** Latest records that were set aside. */
export const refusedUsage = reading<{ limit: number }, Row[]>('usage', (transaction, values) =>
  transaction.all('SELECT id, refused_at, problem, record FROM usage_refused ORDER BY refused_at DESC LIMIT :limit', {
    ...values,
  }),
);

/** Record of a request by its id, or by the id of the upstream response. */
export const usageRecord = reading<{ id: string; keyId: string }, Row | undefined>(
  'usage',
  async (transaction, { id, keyId }) => {
    const request = await findRequest(transaction, { id, keyId });
    if (request) return request;
    const sql = (column: string) =>
      `SELECT *, CAST(cost AS text) AS cost FROM usage_record WHERE ${column} = :id AND key_id = :keyId
       ORDER BY started_at DESC LIMIT 1`;
    const [found] = await transaction.all(sql('id'), { id, keyId });
    return found ?? (await transaction.all(sql('upstream_id'), { id, keyId }))[0];
  },
);

/** Spending of a key, or of a tag, in each period, as text in 1e-12 USD. */
export const spentBy = reading<{ subject: string; starts: { period: string; startsAt: number }[] }, Row[]>(
  'usage',
  async (transaction, { subject, starts }) => {
    const sql = `SELECT period, CAST(spent AS text) AS spent FROM budget
      WHERE key_id = :subject AND period = :period AND starts_at = :startsAt`;
    const found: Row[] = [];
    for (const { period, startsAt } of starts)
      found.push(...(await transaction.all(sql, { subject, period, startsAt })));
    return found;
  },
);

/**
 * Replaces `interrupted` records that other gateways wrote while this one was suspended. A record that is no longer
 * `interrupted` was corrected by an earlier try. Records of unsent requests are deleted.
 */
async function correctInterrupted(
  transaction: Transaction,
  finished: readonly UsageRow[],
  unsent: readonly WithdrawnIntent[],
): Promise<void> {
  const before: UsageRow[] = [];
  for (const { values, pairs } of keyBatches([...finished, ...unsent])) {
    const found = await transaction.all(
      `SELECT id, started_at, key_id, tags, endpoint_provider, endpoint_model, protocol_in, status, input_tokens, output_tokens,
         cached_tokens, cache_write_tokens, reasoning_tokens, CAST(cost AS text) AS cost
       FROM usage_request WHERE status = 'interrupted' AND (at, id) IN (VALUES ${pairs}) ${transaction.forUpdate}`,
      values,
    );
    before.push(...found.map((row) => ({ ...row, cost: BigInt(String(row.cost)) }) as unknown as UsageRow));
  }
  const toCorrect = new Set(before.map(({ id }) => id));
  await replaceRequests(
    transaction,
    before,
    finished.filter(({ id }) => toCorrect.has(id)),
  );
}

/**
 * Deletes intents and returns the ids that existed. The others were recorded by a gateway that took this one for dead, or by
 * an earlier try.
 */
async function deleteIntents(transaction: Transaction, ids: readonly string[]): Promise<Set<string>> {
  const ended = new Set<string>();
  for (const [names, marks] of idBatches(ids)) {
    const gone = await transaction.all(`DELETE FROM inflight WHERE id IN (${marks}) RETURNING id`, names);
    for (const { id } of gone) ended.add(String(id));
  }
  return ended;
}

async function recordedIds(transaction: Transaction, rows: UsageRow[]): Promise<Set<string>> {
  const known = new Set<string>();
  for (const { values, pairs } of keyBatches(rows)) {
    const found = await transaction.all(`SELECT id FROM usage_request WHERE (at, id) IN (VALUES ${pairs})`, values);
    for (const { id } of found) known.add(String(id));
  }
  return known;
}

/** Sizes of id lists: few, so that few statements are prepared. Short lists are padded with their last id. */
const ID_LIST_SIZES = [1, 8, 64, 512];

function idBatches(ids: readonly string[]): [Row, string][] {
  const groups: [Row, string][] = [];
  for (let start = 0; start < ids.length; ) {
    const size = ID_LIST_SIZES.find((candidate) => candidate >= ids.length - start) ?? 512;
    const part = ids.slice(start, start + size);
    const padded = Array.from({ length: size }, (_, index) => part[index] ?? (part.at(-1) as string));
    const names = Object.fromEntries(padded.map((id, index) => [`id${index}`, id]));
    groups.push([names, padded.map((_, index) => `:id${index}`).join(', ')]);
    start += size;
  }
  return groups;
}

function interruptedRow(record: string, age: number): UsageRow {
  const { cost, ...row } = JSON.parse(record);
  const total = Math.max(0, age);
  const ended = { total_ms: total, ended_at: row.started_at + total };
  return { ...row, ...ended, cost: BigInt(cost), status: 'interrupted', estimated: 1 };
}

function intentRow({ id, instance, started_at, record }: InflightRow): Row {
  return { id, instance, started_at, record };
}
