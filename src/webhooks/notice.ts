/** Notices: webhooks to the operator, about budgets, deliveries that were given up, and faults of the store. */

import { hash } from 'node:crypto';
import type { Clock } from '../core/clock.ts';
import type { NewDelivery } from '../store/delivery-rows.ts';
import type { ExhaustedDelivery } from './delivery.ts';

/** Owner of these deliveries, which no key has. They are signed with the secret of keys without their own. */
export const NOTICE_OWNER = 'gateway';

export interface Notice {
  event: 'budget.reached' | 'webhooks.exhausted' | 'store.failing' | 'store.recovered' | 'usage.lost';
  /** Tells it from others of its event: a notice is sent once, whichever gateway makes it. */
  subject: string;
  url: string;
  /** Unix milliseconds. */
  createdAt: number;
  data: object;
}

const HOUR_MS = 3_600_000;
const SUBJECT_DIGITS = 24;

export function noticeDelivery({ event, subject, url, createdAt, data }: Notice): NewDelivery {
  const id = `notice-${event.replace('.', '-')}-${hash('sha256', subject).slice(0, SUBJECT_DIGITS)}`;
  const body = Buffer.from(JSON.stringify({ event, id, created_at: Math.floor(createdAt / 1000), data }));
  return { id, taskId: id, owner: NOTICE_OWNER, url, body, createdAt };
}

/** Makes at most one notice an hour for a receiver that fails; a failed notice causes none. */
export function createExhaustionNotices({ url, clock }: { url: string; clock: Pick<Clock, 'now'> }) {
  return ({ id, owner, receiver }: ExhaustedDelivery): NewDelivery | undefined => {
    if (owner === NOTICE_OWNER) return undefined;
    const now = clock.now();
    return noticeDelivery({
      event: 'webhooks.exhausted',
      subject: `${receiver} ${Math.floor(now / HOUR_MS)}`,
      url,
      createdAt: now,
      data: { receiver, delivery: id, key: owner },
    });
  };
}
