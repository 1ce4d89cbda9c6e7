/** Notices: webhooks to the operator, about budgets, deliveries that were given up, and faults of the store. */

import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { NewDelivery } from '../store/delivery-rows.ts';
import type { Store } from '../store/store.ts';
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

export interface ExhaustionNoticesOptions {
  store: Pick<Store, 'call'>;
  url: string;
  clock: Pick<Clock, 'now'>;
  log: Pick<Logger, 'warn'>;
}

/** Creates at most one notice an hour for a receiver that fails; a failed notice causes none. */
export function createExhaustionNotices({ store, url, clock, log }: ExhaustionNoticesOptions) {
  return async ({ id, owner, receiver }: ExhaustedDelivery): Promise<void> => {
    if (owner === NOTICE_OWNER) return;
    const now = clock.now();
    const notice = noticeDelivery({
      event: 'webhooks.exhausted',
      subject: `${receiver} ${Math.floor(now / HOUR_MS)}`,
      url,
      createdAt: now,
      data: { receiver, delivery: id, key: owner },
    });
    try {
      await store.call('addNotices', { notices: [notice] });
    } catch (error) {
      log.warn({ problem: (error as Error).message }, 'a notice could not be stored');
    }
  };
}
