/** Webhook deliveries of a task in the public API. Times are Unix seconds; absent fields are left out. */

import type { Json } from '../../core/json/json.ts';
import { defined } from '../../core/plain-objects.ts';
import type { AttemptView, DeliveryView } from '../../webhooks/delivery-log.ts';

export function encodeDeliveries(deliveries: readonly DeliveryView[]): Json {
  return { object: 'list', data: deliveries.map(encodeDelivery) };
}

function encodeDelivery({ id, url, state, createdAt, settledAt, nextDueAt, attempts }: DeliveryView): Json {
  return defined({
    id,
    object: 'webhook.delivery',
    url,
    state,
    created_at: seconds(createdAt),
    settled_at: settledAt && seconds(settledAt),
    next_attempt_at: nextDueAt && seconds(nextDueAt),
    attempts: attempts.map(encodeAttempt),
  });
}

function encodeAttempt({ n, trigger, startedAt, endedAt, outcome, status }: AttemptView): Json {
  return defined({ n, trigger, started_at: seconds(startedAt), ended_at: seconds(endedAt), outcome, status });
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
