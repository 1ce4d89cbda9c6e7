/** Webhook deliveries: attempts, their results, and replays. */

import { laneOf, replayJobRef, WEBHOOK_JOB_KIND } from '../delivery-rows.ts';
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
import { type Row, reading, scanning, type Transaction, writing } from '../operation.ts';

export type DeliveryState = 'pending' | 'delivered' | 'exhausted';
export type DeliveryOutcome = 'ack' | 'http_status' | 'timeout' | 'dns' | 'connect' | 'tls' | 'protocol' | 'blocked';
export type DeliveryTrigger = 'schedule' | 'replay';

export interface AttemptStart extends Lease {
  deliveryId: string;
  trigger: DeliveryTrigger;
  /** Limit of automatic attempts. */
  maxAttempts: number;
  now: number;
}

/** `over`: nothing is left to send and the job is deleted. `lost`: the lease is lost. */
export type BegunDelivery =
  | { state: 'send'; owner: string; url: string; body: Uint8Array }
  | { state: 'over' }
  | { state: 'lost' };

/** Counts an attempt before it is made, so that a crash during the attempt counts too. */
export const beginAttempt = writing<AttemptStart, BegunDelivery>('state', async (transaction, begin) => {
  const { deliveryId: id, trigger, maxAttempts, now } = begin;
  if (!(await lockLeasedJob(transaction, begin))) return { state: 'lost' };
  const [row] = await transaction.all('SELECT owner, url, body, state, begun FROM delivery WHERE id = :id', { id });
  const isAutomatic = trigger === 'schedule';
  const isExhausted = isAutomatic && (row?.state !== 'pending' || Number(row.begun) >= maxAttempts);
  if (!(row?.body instanceof Uint8Array) || isExhausted) {
    await finishJob(transaction, begin);
    if (row?.state === 'pending') await settleDelivery(transaction, { id, state: 'exhausted', now });
    return { state: 'over' };
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
}

/** False if the lease is lost: nothing is changed, and the result of the new holder counts. */
export const recordAttempt = writing<AttemptReport, boolean>('state', async (transaction, attempt) => {
  const { deliveryId, trigger, lane, late, result } = attempt;
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
    await settleDelivery(transaction, { id: deliveryId, state: 'exhausted', now: result.endedAt });
  return true;
});

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
      WHERE delivery_id = :id AND trigger_kind = 'replay' AND started_at > :since ORDER BY started_at DESC LIMIT :limit`;
    const recent = await transaction.all(recentSql, { id, since: now - period, limit });
    if (recent.length >= limit) {
      return { state: 'limited', retryAfter: Math.max(1, Number(recent.at(-1)?.started_at) + period - now) };
    }
    const lane = laneOf(String(delivery.url));
    await addJob(transaction, { kind: WEBHOOK_JOB_KIND, ref: replay, lane, owner, dueAt: now });
    return { state: 'started' };
  },
);

export interface DeliveryRow {
  id: string;
  taskId: string;
  owner: string;
  url: string;
  state: DeliveryState;
  createdAt: number;
  settledAt: number | null;
  /** Due time of the next automatic attempt. */
  nextDueAt: number | null;
  attempts: AttemptRow[];
}

export interface AttemptRow {
  n: number;
  trigger: DeliveryTrigger;
  scheduledAt: number;
  startedAt: number;
  endedAt: number;
  outcome: DeliveryOutcome;
  status: number | null;
  address: string | null;
  retryAfter: number | null;
  nextDueAt: number | null;
}

/** One statement, so that state and attempts are consistent. */
const DELIVERY_SELECT = `SELECT d.id, d.task_id, d.owner, d.url, d.state, d.created_at, d.settled_at, j.due_at, a.n,
    a.trigger_kind, a.scheduled_at, a.started_at, a.ended_at, a.outcome, a.status, a.address, a.retry_after, a.next_due_at
  FROM delivery d LEFT JOIN job j ON j.kind = '${WEBHOOK_JOB_KIND}' AND j.ref = d.id
    LEFT JOIN delivery_attempt a ON a.delivery_id = d.id`;

export const readDelivery = reading<{ taskId: string }, DeliveryRow | undefined>(
  'state',
  async (transaction, values) => {
    const rows = await transaction.all(`${DELIVERY_SELECT} WHERE d.task_id = :taskId ORDER BY a.n`, values);
    return deliveryRows(rows)[0];
  },
);

/** Deliveries of an owner created before a timestamp, newest first. */
export const listDeliveries = scanning<{ owner: string; before: number; limit: number }, DeliveryRow[]>(
  'state',
  async (transaction, values) => {
    const page = `SELECT id FROM delivery WHERE owner = :owner AND created_at < :before
      ORDER BY created_at DESC, id LIMIT :limit`;
    const sql = `${DELIVERY_SELECT} WHERE d.id IN (${page}) ORDER BY d.created_at DESC, d.id, a.n`;
    return deliveryRows(await transaction.all(sql, values));
  },
);

/** Groups joined rows: one row per attempt, or one row without an attempt. */
function deliveryRows(rows: Row[]): DeliveryRow[] {
  const deliveries = new Map<string, DeliveryRow>();
  for (const row of rows) {
    const delivery = deliveries.get(String(row.id)) ?? deliveryRow(row);
    deliveries.set(delivery.id, delivery);
    if (row.n !== null) delivery.attempts.push(attemptRow(row));
  }
  return [...deliveries.values()];
}

function deliveryRow(row: Row): DeliveryRow {
  return {
    id: String(row.id),
    taskId: String(row.task_id),
    owner: String(row.owner),
    url: String(row.url),
    state: row.state as DeliveryState,
    createdAt: Number(row.created_at),
    settledAt: optionalNumber(row.settled_at),
    nextDueAt: optionalNumber(row.due_at),
    attempts: [],
  };
}

function attemptRow(row: Row): AttemptRow {
  return {
    n: Number(row.n),
    trigger: row.trigger_kind as DeliveryTrigger,
    scheduledAt: Number(row.scheduled_at),
    startedAt: Number(row.started_at),
    endedAt: Number(row.ended_at),
    outcome: row.outcome as DeliveryOutcome,
    status: optionalNumber(row.status),
    address: row.address as string | null,
    retryAfter: optionalNumber(row.retry_after),
    nextDueAt: optionalNumber(row.next_due_at),
  };
}

function optionalNumber(value: Row[string] | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
