/** Gateway instances on a store, and their shares of limits. */

import { minBigInt } from '../../core/money.ts';
import type { BudgetPeriod } from '../../records/reservations.ts';
import { tagOfSubject } from '../../records/tags.ts';
import { reading, type Transaction, writing } from '../operation.ts';
import { HAS_TAG } from '../usage-rows.ts';
import { SPENT_SELECT, type Spent, spentIn, sumColumns, sumOf } from '../usage-sums.ts';

export interface Heartbeat {
  id: string;
  /** Version of the gateway. */
  version?: string;
  /** Reservations of its running requests in budgets. Absent where that is not known. */
  reservations?: string;
  now: number;
  /** Time until which the instance counts as alive. */
  until: number;
  /** No other instance can exist. */
  exclusive: boolean;
}

/** Heartbeats of gateways that live, of other versions too, are not further ahead. */
const MAX_AHEAD_MS = 3_600_000;

/**
 * Extends the heartbeat of an instance and removes dead instances with their holds. True if the instance was not registered: it is
 * new, or was taken for dead. An instance whose own heartbeat expired could not reach the store, and neither could the others: those
 * that lived at its last heartbeat get another lifetime. A new instance that finds none alive cannot tell such an outage from their
 * death, and gives it to those that lived last. Nobody gets two between heartbeats: gateways that end one after the other soon after
 * their start would keep all that they held.
 */
export const heartbeat = writing<Heartbeat, boolean>(
  'usage',
  async (transaction, { id, version, reservations, now, until, exclusive }) => {
    // The clock was set back since, and an instance that is gone would live until it is there again.
    const latest = until + MAX_AHEAD_MS;
    const bound = 'UPDATE instance SET heartbeat_until = :until WHERE heartbeat_until > :latest';
    await transaction.run(bound, { until, latest });
    const [known] = await transaction.all(
      'SELECT max(CASE WHEN id = :id THEN heartbeat_until END) AS own, max(heartbeat_until) AS latest FROM instance',
      { id },
    );
    const expiredAt = Number(known?.own ?? known?.latest ?? 0);
    if (expiredAt > 0 && expiredAt <= now && !exclusive) {
      const last = expiredAt - (until - now);
      await transaction.run(
        `UPDATE instance SET heartbeat_until = :until, spared_until = :until
         WHERE heartbeat_until > :last AND heartbeat_until <= :now AND heartbeat_until <> spared_until AND id <> :id`,
        { id, until, last, now },
      );
    }
    const [row] = await transaction.all(
      `INSERT INTO instance (id, version, reservations, started_at, heartbeat_until)
     VALUES (:id, :version, :reservations, :now, :until)
     ON CONFLICT (id) DO UPDATE
     SET heartbeat_until = excluded.heartbeat_until, version = excluded.version, reservations = excluded.reservations
     RETURNING started_at`,
      { id, version: version ?? null, reservations: reservations ?? null, now, until },
    );
    // The only instance recovers the intents of all others at once, which must not look alive.
    const sql = exclusive
      ? `DELETE FROM instance WHERE (heartbeat_until <= :now OR id <> :id) AND NOT (${HAS_GROUPS})`
      : `DELETE FROM instance WHERE heartbeat_until <= :now AND NOT (${HAS_GROUPS} OR ${HAS_INTENTS})`;
    await transaction.run(sql, exclusive ? { now, id } : { now });
    await removeStrayHolds(transaction);
    return Number(row?.started_at) === now;
  },
);

/**
 * Instances that have holds and are not registered. Steps from instance to instance in the index, because there may be a hold for
 * each key with a budget.
 */
const STRAY_HOLDERS_SQL = `WITH RECURSIVE holder (id) AS (
    SELECT min(instance) FROM hold
    UNION ALL
    SELECT (SELECT min(instance) FROM hold WHERE instance > holder.id) FROM holder WHERE holder.id IS NOT NULL
  )
  SELECT id FROM holder WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM instance WHERE instance.id = holder.id)`;

/** Deletes the holds of removed instances, also those that one set after it was removed. */
async function removeStrayHolds(transaction: Transaction): Promise<void> {
  for (const { id } of await transaction.all(STRAY_HOLDERS_SQL))
    await transaction.run(
      'DELETE FROM hold WHERE instance = :id AND NOT EXISTS (SELECT 1 FROM instance WHERE instance.id = :id)',
      { id: String(id) },
    );
}

/** Reservations of running requests of other live instances, as of their last heartbeats; null of one that does not say. */
export const reservationsOfOthers = reading<{ except: string; now: number }, (string | null)[]>(
  'usage',
  async (transaction, values) => {
    const sql = 'SELECT reservations FROM instance WHERE id <> :except AND heartbeat_until > :now';
    const rows = await transaction.all(sql, values);
    return rows.map(({ reservations }) => (reservations === null ? null : String(reservations)));
  },
);

/** The holds of a dead instance stay until its requests are counted as spent. */
const HAS_GROUPS = 'EXISTS (SELECT 1 FROM usage_group WHERE usage_group.instance = instance.id)';
const HAS_INTENTS = 'EXISTS (SELECT 1 FROM inflight WHERE inflight.instance = instance.id)';

/** Latest heartbeat expiry of all instances; 0 without instances. */
export const lastHeartbeat = reading<object, number>('usage', async (transaction) => {
  const [row] = await transaction.all('SELECT max(heartbeat_until) AS until FROM instance');
  return Number(row?.until ?? 0);
});

/** Number of live gateways; their workers are not counted. */
export const countInstances = reading<{ now: number }, number>('usage', async (transaction, values) => {
  const [row] = await transaction.all(
    "SELECT count(*) AS n FROM instance WHERE heartbeat_until > :now AND id NOT LIKE '%/%'",
    values,
  );
  return Number(row?.n);
});

/** Removes an instance with its holds; one whose requests are not all counted as spent counts as dead instead. */
export const removeInstance = writing<{ id: string }, void>('usage', async (transaction, { id }) => {
  const sql = `UPDATE instance SET heartbeat_until = 0 WHERE id = :id AND (${HAS_GROUPS} OR ${HAS_INTENTS})`;
  if ((await transaction.run(sql, { id })) > 0) return;
  await transaction.run('DELETE FROM hold WHERE instance = :id', { id });
  await transaction.run('DELETE FROM instance WHERE id = :id', { id });
});

export interface AllowanceRequest {
  /** Name of the limit. */
  name: string;
  windowAt: number;
  limit: number;
  want: number;
  /** Amount that was used already and is taken even beyond the limit. */
  alreadyUsed: number;
}

/** Takes up to `want` of the remaining allowance of a window. */
export const takeAllowance = writing<AllowanceRequest, { granted: number; taken: number }>(
  'usage',
  async (transaction, { name, windowAt, limit, want, alreadyUsed }) => {
    const [row] = await transaction.all(
      `INSERT INTO allowance (subject, window_at, taken) VALUES (:name, :windowAt, :alreadyUsed)
       ON CONFLICT (subject, window_at) DO UPDATE SET taken = allowance.taken + excluded.taken RETURNING taken`,
      { name, windowAt, alreadyUsed },
    );
    const taken = Number(row?.taken);
    const granted = Math.max(0, Math.min(want, limit - taken));
    if (granted > 0) {
      await transaction.run(
        'UPDATE allowance SET taken = taken + :granted WHERE subject = :name AND window_at = :windowAt',
        { granted, name, windowAt },
      );
    }
    return { granted, taken: taken + granted };
  },
);

/** Deletes up to `limit` windows that began before a time in Unix milliseconds; returns their number. */
export const forgetAllowances = writing<{ before: number; limit: number }, number>('usage', (transaction, values) =>
  transaction.run(
    `DELETE FROM allowance WHERE (subject, window_at) IN
     (SELECT subject, window_at FROM allowance WHERE window_at < :before ORDER BY window_at, subject LIMIT :limit)`,
    values,
  ),
);

export interface HoldRequest {
  /** Name of the limit. */
  name: string;
  instance: string;
  limit: bigint;
  want: bigint;
  /** Budget whose spending counts against the limit. */
  budget?: BudgetPeriod;
}

/** Spending plus the holds of open tasks; one statement, because a settlement moves an amount from one to the other. */
const spentSql = (condition: string): string => `SELECT ${SPENT_SELECT}, tasks_high, tasks_low
  FROM (SELECT ${sumColumns('amount', 'tasks')} FROM task_hold WHERE ${condition} AND created_at >= :startsAt) AS held
  LEFT JOIN budget ON key_id = :subject AND period = :period AND starts_at = :startsAt`;
const SPENT_BY_KEY_SQL = spentSql('key_id = :subject');
const SPENT_BY_TAG_SQL = spentSql(`tags <> '' AND ${HAS_TAG}`);

async function usedIn(transaction: Transaction, budget: BudgetPeriod): Promise<Spent & { held: bigint }> {
  const tag = tagOfSubject(budget.subject);
  const [row] =
    tag === undefined
      ? await transaction.all(SPENT_BY_KEY_SQL, { ...budget })
      : await transaction.all(SPENT_BY_TAG_SQL, { ...budget, tag });
  return { ...spentIn(row), held: sumOf(row, 'tasks') };
}

/** Spending of a subject in each period, and the most that open tasks may still cost. Money is in 1e-12 USD. */
export const budgetUse = reading<
  { subject: string; periods: Omit<BudgetPeriod, 'subject'>[] },
  (Spent & { period: BudgetPeriod['period']; held: bigint })[]
>('usage', async (transaction, { subject, periods }) => {
  const uses = [];
  for (const one of periods) uses.push({ period: one.period, ...(await usedIn(transaction, { subject, ...one })) });
  return uses;
});

/** Sets the hold of an instance to `want`, or to the rest beside spending and the holds of others if that is less. */
export const setHold = writing<HoldRequest, { granted: bigint; spent: bigint; others: bigint }>(
  'usage',
  async (transaction, { name, instance, limit, want, budget }) => {
    // Locks the row, also one that is being deleted.
    await transaction.run(
      'INSERT INTO held (subject) VALUES (:name) ON CONFLICT (subject) DO UPDATE SET subject = excluded.subject',
      { name },
    );
    const used = budget ? await usedIn(transaction, budget) : { spent: 0n, held: 0n };
    const spent = used.spent + used.held;
    const [held] = await transaction.all(
      `SELECT ${sumColumns('amount')} FROM hold WHERE subject = :name AND instance <> :instance`,
      { name, instance },
    );
    const others = sumOf(held, 'amount');
    const left = limit - spent - others;
    const granted = left > 0n ? minBigInt(left, want) : 0n;
    await transaction.run(
      `INSERT INTO hold (subject, instance, amount) VALUES (:name, :instance, :granted)
       ON CONFLICT (subject, instance) DO UPDATE SET amount = excluded.amount`,
      { name, instance, granted },
    );
    return { granted, spent, others };
  },
);

/**
 * Deletes the locks of limits without holds, such as those of past periods, and holds of nothing: up to `limit` of each. Returns
 * their number.
 */
export const forgetHolds = writing<{ limit: number }, number>('usage', async (transaction, values) => {
  // Locks before holds, as `setHold` takes them.
  const unheld = 'NOT EXISTS (SELECT 1 FROM hold WHERE hold.subject = held.subject AND amount <> 0)';
  const locks = await transaction.run(
    `DELETE FROM held WHERE subject IN (SELECT subject FROM held WHERE ${unheld} LIMIT :limit)`,
    values,
  );
  const empty = 'SELECT subject, instance FROM hold WHERE amount = 0 LIMIT :limit';
  const sql = `DELETE FROM hold WHERE amount = 0 AND (subject, instance) IN (${empty})`;
  return locks + (await transaction.run(sql, values));
});
