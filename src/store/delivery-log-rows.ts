/** Rows of the delivery log: a webhook with its attempts. */

import { WEBHOOK_JOB_KIND } from './delivery-rows.ts';
import type { Row } from './operation.ts';

export type DeliveryState = 'pending' | 'delivered' | 'exhausted';
export type DeliveryOutcome = 'ack' | 'http_status' | 'timeout' | 'dns' | 'connect' | 'tls' | 'protocol' | 'blocked';
export type DeliveryTrigger = 'schedule' | 'replay';

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
export const DELIVERY_SELECT = `SELECT d.id, d.task_id, d.owner, d.url, d.state, d.created_at, d.settled_at, j.due_at, a.n,
    a.trigger_kind, a.scheduled_at, a.started_at, a.ended_at, a.outcome, a.status, a.address, a.retry_after, a.next_due_at
  FROM delivery d LEFT JOIN job j ON j.kind = '${WEBHOOK_JOB_KIND}' AND j.ref = d.id
    LEFT JOIN delivery_attempt a ON a.delivery_id = d.id`;

/** Groups joined rows: one row per attempt, or one row without an attempt. */
export function deliveryRows(rows: Row[]): DeliveryRow[] {
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
