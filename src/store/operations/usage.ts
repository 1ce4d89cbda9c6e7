/** Usage records: write-ahead intents, records, sums and retention. */

import { type MaybePromise, type Row, reading, scanning, type Transaction, writing } from '../operation.ts';
import { findRequest } from '../request-rows.ts';
import { GroupFold, type GroupRange, type InflightRow, type NotedGroup } from '../usage-groups.ts';
import type { UsageRow } from '../usage-row.ts';
import { addRequests } from '../usage-rows.ts';
import { recordedIds, settleUsage, type UsageChanges } from '../usage-settlement.ts';
import { SPENT_SELECT, type Spent, spentIn } from '../usage-sums.ts';

export interface UsageGroup extends UsageChanges {
  begun: InflightRow[];
  /** Place of the group among those of its instance; each try of a group has the same. */
  turn?: { instance: string; number: number };
  /** Groups of an instance that amount to these changes. They are removed. */
  folded?: GroupRange;
}

/** One flush of intents and records. Idempotent: may be repeated if the outcome is unknown. */
export const recordUsage = writing<UsageGroup, void>('usage', async (transaction, group) => {
  const { begun, turn, folded, ...changes } = group;
  if (turn) await takeTurn(transaction, turn);
  // Without any of its groups left it was done before, by an earlier try or by another gateway.
  const removed = folded ? await removeGroups(transaction, folded) : 0;
  const isLate = folded !== undefined && removed === 0;
  if (begun.length > 0 && !isLate)
    await transaction.insert('inflight', begun.map(intentRow), { ignoreDuplicates: true });
  // Another gateway that folded a part of the groups made intents of requests that ended in the others.
  const isPart = folded !== undefined && removed < folded.to - folded.after;
  const finished = isPart ? changes.finished.map(({ row }) => ({ row, begun: true })) : changes.finished;
  await settleUsage(transaction, { ...changes, finished });
});

/** Writes a group down, which is folded later. Idempotent like `recordUsage`. */
export const noteUsageGroup = writing<{ instance: string; number: number; records: string }, void>(
  'usage',
  async (transaction, { instance, number, records }) => {
    await takeTurn(transaction, { instance, number });
    await transaction.insert('usage_group', [{ instance, number, records }], { ignoreDuplicates: true });
  },
);

/** An earlier try of the group that reaches the server later has no effect. */
async function takeTurn(transaction: Transaction, turn: Required<UsageGroup>['turn']): Promise<void> {
  if (transaction.forUpdate === '') return;
  await transaction.run('UPDATE instance SET flush = :number WHERE id = :instance AND flush < :number', turn);
}

function removeGroups(transaction: Transaction, { instance, to }: GroupRange): MaybePromise<number> {
  return transaction.run('DELETE FROM usage_group WHERE instance = :instance AND number <= :to', { instance, to });
}

export interface RecoverableUsage {
  now: number;
  /** One intent alone. */
  id?: string;
  /** Most intents, and most groups, of one transaction. */
  limit?: number;
}

export interface RecoveredUsage {
  /** Number of new `interrupted` records. */
  recovered: number;
  /** Whether dead gateways may have left more. */
  hasMore: boolean;
}

/** Intents, and groups, that one transaction recovers: it holds up other writers for as long. */
const RECOVERED_AT_ONCE = { intents: 1000, groups: 100 };

/**
 * Folds groups of dead gateways, and converts their intents, or one of them, to `interrupted` records: a part of them in each
 * transaction. Requests of a folded group that did not end become intents, because a later group may have their ends.
 */
export const recoverUsage = writing<RecoverableUsage, RecoveredUsage>(
  'usage',
  async (transaction, { now, id, limit }) => {
    const groups = limit ?? RECOVERED_AT_ONCE.groups;
    if (id === undefined && (await foldOrphanedGroups(transaction, { now, limit: groups })) >= groups)
      return { recovered: 0, hasMore: true };
    const intents = limit ?? RECOVERED_AT_ONCE.intents;
    const dead = await transaction.all(
      `DELETE FROM inflight WHERE ${id === undefined ? `id IN (${ORPHANED_INTENTS})` : `id = :id AND ${IS_ORPHANED}`}
       RETURNING record`,
      id === undefined ? { now, limit: intents } : { now, id },
    );
    const records = dead.map(({ record }) => interrupted(storedRow(String(record)), now));
    const known = await recordedIds(transaction, records);
    const added = records.filter((row) => !known.has(row.id));
    await addRequests(transaction, added);
    return { recovered: added.length, hasMore: id === undefined && dead.length >= intents };
  },
);

/** Returns the number of groups. */
async function foldOrphanedGroups(transaction: Transaction, values: { now: number; limit: number }): Promise<number> {
  const rows = await transaction.all(
    `DELETE FROM usage_group WHERE (instance, number) IN
       (SELECT instance, number FROM usage_group WHERE ${IS_ORPHANED} ORDER BY instance, number LIMIT :limit)
     RETURNING instance, number, records`,
    values,
  );
  for (const [instance, own] of Map.groupBy(rows.map(notedGroup), (group) => group.instance)) {
    const fold = new GroupFold(instance);
    for (const { records } of own.sort((one, other) => one.number - other.number)) fold.add(records);
    const begun = fold.intents();
    if (begun.length > 0) await transaction.insert('inflight', begun.map(intentRow), { ignoreDuplicates: true });
    await settleUsage(transaction, fold);
  }
  return rows.length;
}

/** Groups of a dead gateway in their order, up to `limit`. */
export const orphanedGroups = reading<{ now: number; limit: number }, NotedGroup[]>(
  'usage',
  async (transaction, values) => {
    const rows = await transaction.all(
      `SELECT instance, number, records FROM usage_group
       WHERE instance = (SELECT min(instance) FROM usage_group WHERE ${IS_ORPHANED}) ORDER BY number LIMIT :limit`,
      values,
    );
    return rows.map(notedGroup);
  },
);

const IS_ORPHANED = 'instance NOT IN (SELECT id FROM instance WHERE heartbeat_until > :now)';
/** Not while there are groups of the instance, which may have their ends: another gateway may be folding these. */
const ORPHANED_INTENTS = `SELECT id FROM inflight WHERE ${IS_ORPHANED}
  AND NOT EXISTS (SELECT 1 FROM usage_group WHERE usage_group.instance = inflight.instance)
  ORDER BY id LIMIT :limit`;

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
export const usageRecord = scanning<{ id: string; keyId: string }, Row | undefined>(
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

/** Spending of a key, or of a tag, in each period that has some. Money is in 1e-12 USD. */
export const spentBy = reading<
  { subject: string; starts: { period: string; startsAt: number }[] },
  (Spent & { period: string })[]
>('usage', async (transaction, { subject, starts }) => {
  const sql = `SELECT ${SPENT_SELECT} FROM budget
    WHERE key_id = :subject AND period = :period AND starts_at = :startsAt`;
  const found = [];
  for (const { period, startsAt } of starts) {
    const rows = await transaction.all(sql, { subject, period, startsAt });
    found.push(...rows.map((row) => ({ period, ...spentIn(row) })));
  }
  return found;
});

function notedGroup({ instance, number, records }: Row): NotedGroup {
  return { instance: String(instance), number: Number(number), records: String(records) };
}

function storedRow(record: string): UsageRow {
  const { cost, ...row } = JSON.parse(record);
  return { ...row, cost: BigInt(cost) };
}

function interrupted(row: UsageRow, now: number): UsageRow {
  const total = Math.max(0, now - row.started_at);
  return { ...row, total_ms: total, ended_at: row.started_at + total, status: 'interrupted', estimated: 1 };
}

function intentRow({ id, instance, started_at, record }: InflightRow): Row {
  return { id, instance, started_at, record };
}
