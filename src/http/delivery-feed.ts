/** Webhooks of the calling key as a feed: a request waits for the next ones, and a cursor says which were read. */

import type { Clock } from '../core/clock.ts';
import { sleep } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';
import type { WebhookSecrets } from '../webhooks/secrets.ts';
import { keyOf, type RequestContext } from './request-context.ts';

export interface DeliveryFeedOptions {
  store: Pick<Store, 'call'>;
  secrets: Pick<WebhookSecrets, 'signer'>;
  clock: Clock;
  /** Whether the gateway is stopping, which ends waiting requests. */
  isStopping(): boolean;
}

type Place = { at: number; id: string };

/** Time in which a webhook is stored after it got its time. */
const SETTLE_MS = 3000;
const LOOK_INTERVAL_MS = 500;
const MAX_WAIT_S = 25;
/** Maximum in one response; a body has at most 256 KiB. */
const MAX_DELIVERIES = 20;
/** Maximum numbers of waiting requests of a key, and of this process. */
const MAX_WAITING_OF_KEY = 2;
const MAX_WAITING = 200;
const RETRY_AFTER_MS = 5000;
/** Time and id of the last webhook that was read. */
const CURSOR = /^(\d{1,15})(?:\.([\w-]{1,100}))?$/;
const WAIT = /^\d{1,2}$/;

export function createDeliveryFeed({ store, secrets, clock, isStopping }: DeliveryFeedOptions) {
  const waiting = new Map<string, number>();
  let total = 0;

  async function find(owner: string, after: Place) {
    const until = clock.now() - SETTLE_MS;
    return store.call('deliveriesAfter', { owner, after, until, limit: MAX_DELIVERIES });
  }

  async function waitForNext(context: RequestContext, after: Place, waitMs: number) {
    const { id: owner } = keyOf(context);
    const end = clock.monotonic() + waitMs;
    for (;;) {
      const found = await find(owner, after);
      const isOver = clock.monotonic() >= end || isStopping() || context.response.destroyed;
      if (found.length > 0 || isOver) return found;
      await sleep(clock, LOOK_INTERVAL_MS);
    }
  }

  function hold(owner: string): () => void {
    const own = waiting.get(owner) ?? 0;
    if (own >= MAX_WAITING_OF_KEY || total >= MAX_WAITING) {
      const [most, whose] = own >= MAX_WAITING_OF_KEY ? [MAX_WAITING_OF_KEY, 'this key'] : [MAX_WAITING, 'all keys'];
      const message = `At most ${most} requests of ${whose} may wait for webhooks, and as many do.`;
      throw new GatewayError('rate_limit_exceeded', message, { retryAfter: RETRY_AFTER_MS });
    }
    waiting.set(owner, own + 1);
    total += 1;
    return () => {
      total -= 1;
      const left = (waiting.get(owner) ?? 1) - 1;
      if (left > 0) waiting.set(owner, left);
      else waiting.delete(owner);
    };
  }

  return async (context: RequestContext) => {
    const { id: owner } = keyOf(context);
    const after = readCursor(context.query.get('after'));
    const waitMs = readWait(context.query.get('wait'));
    if (!after) return context.send({ body: { object: 'list', data: [], next: String(clock.now() - SETTLE_MS) } });
    const release = hold(owner);
    try {
      const found = await waitForNext(context, after, waitMs);
      const sign = await secrets.signer(owner);
      if (!sign) throw new GatewayError('not_found', 'Webhooks of this key are not signed; it has no secret.');
      const data = found.map(({ id, url, body, createdAt }) => ({
        id,
        object: 'webhook',
        url,
        created_at: Math.floor(createdAt / 1000),
        headers: sign({ id, body, sentAt: clock.now() }),
        body: Buffer.from(body).toString(),
      }));
      const last = found.at(-1);
      const next = last ? `${last.createdAt}.${last.id}` : (context.query.get('after') as string);
      return await context.send({ body: { object: 'list', data, next } });
    } finally {
      release();
    }
  };
}

function readCursor(text: string | null): Place | undefined {
  if (text === null) return undefined;
  const [, at, id = ''] = CURSOR.exec(text) ?? [];
  if (at !== undefined) return { at: Number(at), id };
  throw new GatewayError('invalid_request', 'after must be what next was in an earlier response.', { param: 'after' });
}

function readWait(text: string | null): number {
  if (text === null) return 0;
  if (WAIT.test(text) && Number(text) <= MAX_WAIT_S) return Number(text) * 1000;
  throw new GatewayError('invalid_request', `wait must be seconds, from 0 to ${MAX_WAIT_S}.`, { param: 'wait' });
}
