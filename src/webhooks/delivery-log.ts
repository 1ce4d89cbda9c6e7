/** What became of webhooks, for those they were owed to, and sending one again. */

import { GatewayError } from '../core/errors.ts';
import type { Scheduler } from '../jobs/job.ts';
import { WEBHOOK } from '../store/delivery-rows.ts';
import type {
  AttemptRow,
  DeliveryOutcome,
  DeliveryRow,
  DeliveryState,
  DeliveryTrigger,
} from '../store/operations/deliveries.ts';
import type { Store } from '../store/store.ts';

/** Moments are Unix milliseconds. What is optional is absent rather than null. */
export interface DeliveryView {
  /** The idempotency key. */
  id: string;
  taskId: string;
  url: string;
  state: DeliveryState;
  createdAt: number;
  settledAt?: number;
  /** When the next automatic attempt is due. */
  nextDueAt?: number;
  attempts: AttemptView[];
}

/** The outcome as a class: a sender's details would tell what stands behind an address. */
export interface AttemptView {
  n: number;
  trigger: DeliveryTrigger;
  startedAt: number;
  endedAt: number;
  outcome: DeliveryOutcome;
  status?: number;
  nextDueAt?: number;
  /** For the operator only: the address that was dialled. */
  address?: string;
  /** For the operator only: milliseconds that the receiver asked for. */
  retryAfter?: number;
}

type StoreReader = Pick<Store, 'call'>;

/** One at most; empty for another owner's task. */
export async function deliveriesOf(
  store: StoreReader,
  { owner, taskId }: { owner: string; taskId: string },
): Promise<DeliveryView[]> {
  const row = await store.call('readDelivery', { taskId });
  return row?.owner === owner ? [deliveryView(row, ownerAttemptView)] : [];
}

/** A page of an owner's deliveries, the newest first, those before a moment. */
export async function deliveriesOfOwner(
  store: StoreReader,
  { owner, before, limit }: { owner: string; before: number; limit: number },
): Promise<DeliveryView[]> {
  const rows = await store.call('listDeliveries', { owner, before, limit });
  return rows.map((row) => deliveryView(row, ownerAttemptView));
}

/** With all details, whoever owns it. */
export async function deliveryForOperator(store: StoreReader, taskId: string): Promise<DeliveryView | undefined> {
  const row = await store.call('readDelivery', { taskId });
  return row && deliveryView(row, operatorAttemptView);
}

export interface ReplayOptions {
  store: Pick<Store, 'call' | 'now'>;
  scheduler: Pick<Scheduler, 'wake'>;
  owner: string;
  taskId: string;
}

/** How often one webhook may be replayed, and within what time. */
const REPLAY_LIMIT = { limit: 10, period: 24 * 3_600_000 };

/**
 * Sends the same bytes once more, at once and without retries. Throws `not_found` when the owner has no such delivery,
 * `delivery_in_flight` while an attempt is being made, `rate_limit_exceeded` after too many.
 */
export async function replayDelivery({ store, scheduler, owner, taskId }: ReplayOptions): Promise<void> {
  const row = await store.call('readDelivery', { taskId });
  const replay = { owner, now: store.now(), ...REPLAY_LIMIT };
  const start = row && (await store.call('startReplay', { deliveryId: row.id, ...replay }));
  switch (start?.state) {
    case 'started':
      return scheduler.wake(WEBHOOK);
    case 'in_flight':
      throw new GatewayError('delivery_in_flight', 'This webhook is being delivered at the moment; try again shortly.');
    case 'limited':
      throw new GatewayError(
        'rate_limit_exceeded',
        `This webhook was sent again ${REPLAY_LIMIT.limit} times within 24 hours, which is as often as it may be.`,
        { retryAfter: start.retryAfter },
      );
    case 'not_found':
    case undefined:
      throw new GatewayError(
        'not_found',
        'There is no webhook for this video: it has no callback_url, has not ended, or was deleted.',
      );
  }
}

function deliveryView(row: DeliveryRow, attemptView: (attempt: AttemptRow) => AttemptView): DeliveryView {
  const { id, taskId, url, state, createdAt, settledAt, nextDueAt, attempts } = row;
  return {
    ...{ id, taskId, url, state, createdAt },
    ...(settledAt !== null && { settledAt }),
    ...(nextDueAt !== null && { nextDueAt }),
    attempts: attempts.map(attemptView),
  };
}

function ownerAttemptView({ n, trigger, startedAt, endedAt, outcome, status, nextDueAt }: AttemptRow): AttemptView {
  return {
    ...{ n, trigger, startedAt, endedAt, outcome },
    ...(status !== null && { status }),
    ...(nextDueAt !== null && { nextDueAt }),
  };
}

function operatorAttemptView(attempt: AttemptRow): AttemptView {
  const { address, retryAfter } = attempt;
  return {
    ...ownerAttemptView(attempt),
    ...(address !== null && { address }),
    ...(retryAfter !== null && { retryAfter }),
  };
}
