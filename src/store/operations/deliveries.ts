/** Webhook deliveries: attempts, their results, and replays. */

import {
  DELIVERY_SELECT,
  type DeliveryOutcome,
  type DeliveryRow,
  type DeliveryState,
  type DeliveryTrigger,
  deliveryRows,
} from '../delivery-log-rows.ts';
import { addDelivery, laneOf, type NewDelivery, replayJobRef, WEBHOOK_JOB_KIND } from '../delivery-rows.ts';
import {
  addJob,
  finishJob,
  type Lease,
  lockLeasedJob,
  markLate,
  recordLaneReachability,
  removeJob,
  rescheduleJob,
} from '../job-rows.ts';
import { reading, type Transaction, writing } from '../operation.ts';

export interface AttemptStart extends Lease {
  deliveryId: string;
  trigger: DeliveryTrigger;
  /** Limit of automatic attempts. */
  maxAttempts: number;
  now: number;
  /** Added if the delivery is given up. */
  notice?: NewDelivery | undefined;
}

/** `over`: nothing is left to send and the job is deleted; the delivery is given up now if `isExhausted`. `lost`: the lease is lost. */
export type BegunDelivery =
  | { state: 'send'; owner: string; url: string; body: Uint8Array }
  | { state: 'over'; isExhausted: boolean }
  | { state: 'lost' };

/** Counts an attempt before it is made, so that a crash during the attempt counts too. */
export const beginAttempt = writing<AttemptStart, BegunDelivery>('state', async (transaction, begin) => {
  const { deliveryId: id, trigger, maxAttempts, now, notice } = begin;
  if (!(await lockLeasedJob(transaction, begin))) return { state: 'lost' };
  const [row] = await transaction.all('SELECT owner, url, body, state, begun FROM delivery WHERE id = :id', { id });
  const isAutomatic = trigger === 'schedule';
  const isExhausted = isAutomatic && (row?.state !== 'pending' || Number(row.begun) >= maxAttempts);
  if (!(row?.body instanceof Uint8Array) || isExhausted) {
    await finishJob(transaction, begin);
    const isPending = row?.state === 'pending';
    if (isPending) await giveUp(transaction, { id, now, notice });
    return { state: 'over', isExhausted: isPending };
  }
  if (isAutomatic) await transaction.run('UPDATE delivery SET begun = begun + 1 WHERE id = :id', { id });
  return { state: 'send', owner: String(row.owner), url: String(row.url), body: row.body };
});

/** Reverts the count of an automatic attempt that was not made. */
export const retractAttempt = writing<Lease & { deliveryId: string }, void>('state', async (transaction, attempt) => {
  if (!(await lockLeasedJob(transaction, attempt))) return;
  await transaction.run('UPDATE delivery SET begun = begun - 1 WHERE id = :id', { id: attempt.deliveryId });
});

/** Timestamps are Unix milliseconds. */
export interface DeliveryAttemptResult {
  scheduledAt: number;
  startedAt: number;
  endedAt: number;
  outcome: DeliveryOutcome;
  /** HTTP status, if there was a response. */
  status?: number;
  /** IP address of the connection. */
  address?: string;
  /** Milliseconds from the `Retry-After` header of the receiver. */
  retryAfter?: number;
  /** Due time of the next attempt; absent after the last one and after a replay. */
  nextDueAt?: number;
}

export interface AttemptReport extends Lease {
  deliveryId: string;
  trigger: DeliveryTrigger;
  lane: string;
  /** Lowers the priority of the next attempt. */
  late: boolean;
  result: DeliveryAttemptResult;
  /** Added if the delivery is given up. */
  notice?: NewDelivery | undefined;
}

/** False if the lease is lost: nothing is changed, and the result of the new holder counts. */
export const recordAttempt = writing<AttemptReport, boolean>('state', async (transaction, attempt) => {
  const { deliveryId, trigger, lane, late, result, notice } = attempt;
  if (!(await lockLeasedJob(transaction, attempt))) return false;
  const isAck = result.outcome === 'ack';
  if (isAck && trigger === 'replay') await removeJob(transaction, WEBHOOK_JOB_KIND, deliveryId);
  const next = trigger === 'schedule' && !isAck ? result.nextDueAt : undefined;
  if (next === undefined) await finishJob(transaction, attempt);
  else await rescheduleJob(transaction, attempt, next, 1);
  if (next !== undefined && late) await markLate(transaction, attempt.id);
  await recordLaneReachability(transaction, { kind: WEBHOOK_JOB_KIND, lane }, result.outcome !== 'connect');
  await logAttempt(transaction, attempt);
  if (isAck) await settleDelivery(transaction, { id: deliveryId, state: 'delivered', now: result.endedAt });
  else if (next === undefined && trigger === 'schedule')
    await giveUp(transaction, { id: deliveryId, now: result.endedAt, notice });
  return true;
});

async function giveUp(
  transaction: Transaction,
  { id, now, notice }: { id: string; now: number; notice: NewDelivery | undefined },
): Promise<void> {
  await settleDelivery(transaction, { id, state: 'exhausted', now });
  if (notice) await addDelivery(transaction, notice);
}

/** Settles a delivery and erases its body if the task is deleted. */
async function settleDelivery(
  transaction: Transaction,
  { id, state, now }: { id: string; state: DeliveryState; now: number },
): Promise<void> {
  const sql = `UPDATE delivery SET state = :state, settled_at = :now WHERE id = :id AND state <> 'delivered'`;
  await transaction.run(sql, { id, state, now });
  const deleted = 'SELECT id FROM video_task WHERE id = delivery.task_id AND deleted_at IS NOT NULL';
  await transaction.run(`UPDATE delivery SET body = NULL WHERE id = :id AND EXISTS (${deleted})`, { id });
}

async function logAttempt(transaction: Transaction, { deliveryId, trigger, result }: AttemptReport): Promise<void> {
  const [row] = await transaction.all('UPDATE delivery SET attempts = attempts + 1 WHERE id = :id RETURNING attempts', {
    id: deliveryId,
  });
  if (!row) return;
  const { scheduledAt, startedAt, endedAt, outcome, status, address, retryAfter, nextDueAt } = result;
  await transaction.insert('delivery_attempt', [
    {
      delivery_id: deliveryId,
      n: Number(row.attempts),
      trigger_kind: trigger,
      scheduled_at: scheduledAt,
      started_at: startedAt,
      ended_at: endedAt,
      outcome,
      status: status ?? null,
      address: address ?? null,
      retry_after: retryAfter ?? null,
      next_due_at: nextDueAt ?? null,
    },
  ]);
}

/** `in_flight`: an attempt is running or a replay is pending. `limited`: the rate limit of replays is reached. */
export type ReplayStart =
  | { state: 'started' | 'in_flight' | 'not_found' }
  /** Milliseconds until the next one is allowed. */
  | { state: 'limited'; retryAfter: number };

export interface ReplayRequest {
  deliveryId: string;
  owner: string;
  now: number;
  /** Limit of replays of one delivery within `period` milliseconds. */
  limit: number;
  period: number;
}

export const startReplay = writing<ReplayRequest, ReplayStart>(
  'state',
  async (transaction, { deliveryId: id, owner, now, limit, period }) => {
    const sql = `SELECT url FROM delivery WHERE id = :id AND owner = :owner AND body IS NOT NULL ${transaction.forUpdate}`;
    const [delivery] = await transaction.all(sql, { id, owner });
    if (!delivery) return { state: 'not_found' };
    const busySql = `SELECT id FROM job WHERE kind = :kind AND (ref = :replay OR (ref = :id AND lease_until > :now))`;
    const replay = replayJobRef(id);
    if ((await transaction.all(busySql, { kind: WEBHOOK_JOB_KIND, id, replay, now })).length > 0)
      return { state: 'in_flight' };
    const recentSql = `SELECT started_at FROM delivery_attempt
      WHERE delivery_id = :id AND trigger_kind = 'replay' AND started_at > :since AND started_at < :latest
      ORDER BY started_at DESC LIMIT :limit`;
    const recent = await transaction.all(recentSql, { id, since: now - period, latest: now + period, limit });
    if (recent.length >= limit) {
      return { state: 'limited', retryAfter: Math.max(1, Number(recent.at(-1)?.started_at) + period - now) };
    }
    const lane = laneOf(String(delivery.url));
    await addJob(transaction, { kind: WEBHOOK_JOB_KIND, ref: replay, lane, owner, dueAt: now });
    return { state: 'started' };
  },
);

/** Deletes up to `limit` counts of failures of receivers for which no job is left; returns their number. */
export const pruneLanes = writing<{ limit: number }, number>('state', (transaction, values) =>
  transaction.run(
    `DELETE FROM job_lane WHERE (kind, lane) IN (
       SELECT kind, lane FROM job_lane WHERE NOT EXISTS (
         SELECT 1 FROM job WHERE job.kind = job_lane.kind AND late IN (0, 1) AND job.lane = job_lane.lane
       ) ORDER BY kind, lane LIMIT :limit)`,
    values,
  ),
);

export interface DeliveryFeed {
  owner: string;
  /** Place of the last one that was read. */
  after: { at: number; id: string };
  /** Unix milliseconds; later ones may still get company of an earlier time. */
  until: number;
  limit: number;
}

/** Webhooks of an owner in the order of their time, those without a body left out. */
export const deliveriesAfter = reading<
  DeliveryFeed,
  { id: string; url: string; body: Uint8Array; createdAt: number }[]
>('state', async (transaction, { owner, after, until, limit }) => {
  const sql = `SELECT id, url, body, created_at FROM delivery WHERE owner = :owner AND created_at <= :until
      AND (created_at, id) > (CAST(:at AS bigint), CAST(:id AS text)) AND created_at >= :at AND body IS NOT NULL
      ORDER BY created_at, id LIMIT :limit`;
  const rows = await transaction.all(sql, { owner, until, limit, ...after });
  return rows.map(({ id, url, body, created_at: createdAt }) => ({
    id: String(id),
    url: String(url),
    createdAt: Number(createdAt),
    body: body as Uint8Array,
  }));
});

export const readDelivery = reading<{ taskId: string }, DeliveryRow | undefined>(
  'state',
  async (transaction, values) => {
    const rows = await transaction.all(`${DELIVERY_SELECT} WHERE d.task_id = :taskId ORDER BY a.n`, values);
    return deliveryRows(rows)[0];
  },
);
