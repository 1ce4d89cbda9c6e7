/** Requests about stored responses and conversations: their rate, the memory that they need, and their responses. */

import { Readable } from 'node:stream';
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { needsSlices, writeInSlices } from '../core/json/write-slices.ts';
import { noRoom } from './body.ts';
import type { BodyBudget } from './body-budget.ts';
import type { HttpResponse } from './http-response.ts';
import { createRate } from './rate.ts';
import { keyOf, type RequestContext } from './request-context.ts';

export interface StoredRequests {
  /** The key whose resources a request is about. Throws `rate_limit_exceeded`. */
  ownerOf(context: RequestContext): string;
  /** The key, with memory reserved for the response until the client has taken it. */
  readerOf(context: RequestContext): { owner: string; reserve(bytes: number): void };
  send(context: RequestContext, response: HttpResponse): Promise<void>;
}

/** Requests of one key: above what polling needs. */
const KEY_RATE = { rate: 50, burst: 100 };

export function createStoredRequests(bodyBudget: BodyBudget, clock: Pick<Clock, 'monotonic'>): StoredRequests {
  const perKey = createRate({ ...KEY_RATE, now: clock.monotonic });

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
      function reserve(bytes: number): void {
        const reservation = bodyBudget.open(owner, bytes);
        if (!reservation) throw noRoom();
        context.response.on('close', reservation.release);
      }
      return { owner, reserve };
    },
    async send(context, { headers, body, ...response }) {
      const isText = Buffer.isBuffer(body) || body instanceof Readable;
      const written = !isText && needsSlices(body) ? await writeInSlices(body) : body;
      context.send({ ...response, body: written, headers: { 'cache-control': 'no-store', ...headers } });
    },
  };
}
