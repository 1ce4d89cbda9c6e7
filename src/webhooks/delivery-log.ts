/** Delivery log: webhook deliveries as shown to their owner and to the operator, and the replay of a delivery. */

import { GatewayError } from '../core/errors.ts';
import type { Scheduler } from '../jobs/job.ts';
import type {
  AttemptRow,
  DeliveryOutcome,
  DeliveryRow,
  DeliveryState,
  DeliveryTrigger,
} from '../store/delivery-log-rows.ts';
import { WEBHOOK_JOB_KIND } from '../store/delivery-rows.ts';
import { SEARCH_DEPTH } from '../store/list-search.ts';
import type { DeliveryPosition, DeliverySearch } from '../store/operations/delivery-lists.ts';
import type { Store } from '../store/store.ts';

/** Times are Unix milliseconds. Optional fields are absent rather than null. */
export interface DeliveryView {
  /** The idempotency key. */
  id: string;
  taskId: string;
  url: string;
  state: DeliveryState;
  createdAt: number;
  settledAt?: number;
  /** Due time of the next automatic attempt. */
  nextDueAt?: number;
  attempts: AttemptView[];
}

/** One attempt. Owners see only the class of the outcome: details of the connection would disclose what is behind an address. */
export interface AttemptView {
  n: number;
  trigger: DeliveryTrigger;
  startedAt: number;
  endedAt: number;
  outcome: DeliveryOutcome;
  status?: number;
  nextDueAt?: number;
  /** Operator only: the IP address connected to. */
  address?: string;
  /** Operator only: `Retry-After` of the receiver in milliseconds. */
  retryAfter?: number;
}

type StoreReader = Pick<Store, 'call'>;

/** At most one delivery; none for a task of another owner. */
export async function deliveriesOf(
  store: StoreReader,
  { owner, taskId }: { owner: string; taskId: string },
): Promise<DeliveryView[]> {
  const row = await store.call('readDelivery', { taskId });
  return row?.owner === owner ? [deliveryView(row, ownerAttemptView)] : [];
}

/** A delivery with its owner, for the operator. */
export type OwnedDeliveryView = DeliveryView & { owner: string };

/** One page of the deliveries of all owners, newest first. It may be empty although a later one is not. */
export async function searchDeliveries(
  store: StoreReader,
  search: Omit<DeliverySearch, 'depth'>,
): Promise<{ deliveries: OwnedDeliveryView[]; next?: DeliveryPosition }> {
  const { rows, ...next } = await store.call('findDeliveries', { ...search, depth: SEARCH_DEPTH });
  return { deliveries: rows.map(ownedDeliveryView), ...next };
}

/** The delivery with all details, for any owner. */
export async function deliveryForOperator(store: StoreReader, taskId: string): Promise<OwnedDeliveryView | undefined> {
  const row = await store.call('readDelivery', { taskId });
  return row && ownedDeliveryView(row);
}

function ownedDeliveryView(row: DeliveryRow): OwnedDeliveryView {
  return { ...deliveryView(row, operatorAttemptView), owner: row.owner };
}

export interface ReplayOptions {
  store: Pick<Store, 'call' | 'now'>;
  scheduler: Pick<Scheduler, 'wake'>;
  owner: string;
  taskId: string;
}

/** Replays allowed for one webhook, per period in milliseconds. */
const REPLAY_LIMIT = { limit: 10, period: 24 * 3_600_000 };

/**
 * Sends the same bytes once more, immediately and without retries. Throws `not_found` if the owner has no such delivery,
 * `delivery_in_flight` during an attempt, and `rate_limit_exceeded` after too many replays.
 */
export async function replayDelivery({ store, scheduler, owner, taskId }: ReplayOptions): Promise<void> {
  const row = await store.call('readDelivery', { taskId });
  const replay = { owner, now: store.now(), ...REPLAY_LIMIT };
  const start = row && (await store.call('startReplay', { deliveryId: row.id, ...replay }));
  switch (start?.state) {
    case 'started':
      return scheduler.wake(WEBHOOK_JOB_KIND);
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
    id,
    taskId,
    url,
    state,
    createdAt,
    ...(settledAt !== null && { settledAt }),
    ...(nextDueAt !== null && { nextDueAt }),
    attempts: attempts.map(attemptView),
  };
}

function ownerAttemptView({ n, trigger, startedAt, endedAt, outcome, status, nextDueAt }: AttemptRow): AttemptView {
  return {
    n,
    trigger,
    startedAt,
    endedAt,
    outcome,
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
