/** Requests about stored responses and conversations: their rate, the memory that they need, and their responses. */

import { Readable } from 'node:stream';
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { needsSlices, writeInSlices } from '../core/json/write-slices.ts';
import { createTurns, SMALL_READ_BYTES } from '../stored-responses/context.ts';
import type { Reader } from '../stored-responses/items.ts';
import { noRoom } from './body.ts';
import type { BodyBudget } from './body-budget.ts';
import type { HttpResponse } from './http-response.ts';
import { createRate } from './rate.ts';
import { keyOf, type RequestContext } from './request-context.ts';

export interface StoredRequests {
  /** The key whose resources a request is about. Throws `rate_limit_exceeded`. */
  ownerOf(context: RequestContext): string;
  /**
   * The key, with memory reserved for the response until the client has taken it. Few large responses of a key are made at
   * once; others wait.
   */
  readerOf(context: RequestContext): Reader;
  /** Ends the reservation of `readerOf`. */
  release(context: RequestContext): void;
  send(context: RequestContext, response: HttpResponse): Promise<void>;
}

/** Requests of one key: above what polling needs. */
const KEY_RATE = { rate: 50, burst: 100 };

export function createStoredRequests(bodyBudget: BodyBudget, clock: Pick<Clock, 'monotonic'>): StoredRequests {
  const perKey = createRate({ ...KEY_RATE, now: clock.monotonic });
  const takeTurn = createTurns();
  const reservations = new WeakMap<RequestContext, (() => void)[]>();
  /** Ends of the turns that are taken. */
  const ends = new WeakMap<RequestContext, () => void>();

  function ownerOf(context: RequestContext): string {
    const owner = keyOf(context).id;
    const wait = perKey(owner);
    if (wait === 0) return owner;
    const message = 'Too many requests about stored responses with this key; slow down.';
    throw new GatewayError('rate_limit_exceeded', message, { retryAfter: wait });
  }

  return {
    ownerOf,
    readerOf(context) {
      const owner = ownerOf(context);
      async function reserve(bytes: number): Promise<void> {
        // One that is larger than all of it has its turn when nothing else is held: an unfinished response may have its parts twice.
        const reservation = bodyBudget.open(owner, Math.min(bytes, bodyBudget.limit));
        if (!reservation) throw noRoom();
        context.response.on('close', reservation.release);
        reservations.set(context, [...(reservations.get(context) ?? []), reservation.release]);
        if (bytes <= SMALL_READ_BYTES || ends.has(context)) return;
        const end = await takeTurn(owner);
        ends.set(context, end);
        context.response.on('close', end);
        if (context.isGone) throw new GatewayError('client_closed', 'The client closed the connection.');
      }
      return { owner, reserve };
    },
    release(context) {
      for (const release of reservations.get(context) ?? []) release();
    },
    async send(context, { headers, body, ...response }) {
      const isText = Buffer.isBuffer(body) || body instanceof Readable;
      const written = !isText && needsSlices(body) ? await writeInSlices(body) : body;
      ends.get(context)?.();
      context.send({ ...response, body: written, headers: { 'cache-control': 'no-store', ...headers } });
    },
  };
}
