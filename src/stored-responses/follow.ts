/** Follower of a background stream: its events from a number on, until the response has ended, on any gateway. */

import type { Cancellation } from '../core/cancellation.ts';
import { type Clock, sleep } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { createFramer } from '../core/sse.ts';
import { KEEP_ALIVE } from '../protocols/responses/encode-stream.ts';
import { lastEvent } from '../protocols/responses/replay-stream.ts';
import type { Cipher } from '../security/cipher.ts';
import type { StreamPage } from '../store/operations/stored-streams.ts';
import type { Store } from '../store/store.ts';
import { eventsLocation } from './event-log.ts';

export interface FollowOptions {
  store: Pick<Store, 'call'>;
  cipher: Cipher;
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  row: string;
  /** Number of the first event that is wanted. */
  from: number;
  /** The response object, as it is stored now; undefined if it was deleted. */
  response(): Promise<Json | undefined>;
  /** The response object with which the stream ends if the response is deleted before it has ended. */
  cancelled(): Json;
}

/** Interval between two looks for new events. */
const LOOK_INTERVAL_MS = 200;
const KEEP_ALIVE_MS = 15_000;
const OPEN = ['queued', 'in_progress'];

/** Throws while nothing was yielded if the stream is not kept; later, the rest is missing. */
export async function* followStream(
  options: FollowOptions,
  first: StreamPage,
  stop: Cancellation,
): AsyncGenerator<string | Buffer> {
  const { store, clock, row } = options;
  let from = options.from;
  let page: StreamPage | undefined = first;
  let { next } = first;
  let isOpen = true;
  // A client that waits for an event learns at once that there is a stream.
  let silentSince = clock.monotonic() - KEEP_ALIVE_MS;
  for (;;) {
    if (!page) {
      // The client was slower than the events are kept, or the response is deleted.
      if (!isOpen || (await options.response())) throw notKept();
      if (next >= from) yield* lastEvent(options.cancelled(), from);
      return;
    }
    ({ next } = page);
    isOpen = OPEN.includes(page.status);
    const text = textFrom(options, page, from);
    if (text !== '') {
      silentSince = clock.monotonic();
      yield text;
    }
    from = Math.max(from, (page.batches.at(-1)?.last ?? -1) + 1);
    if (page.batches.length === 0) {
      if (page.isTruncated) throw notKept();
      if (!isOpen) {
        if (next < from) return;
        const response = await options.response();
        if (!response) throw notKept();
        yield* lastEvent(response, next);
        return;
      }
      if (clock.monotonic() - silentSince >= KEEP_ALIVE_MS) {
        silentSince = clock.monotonic();
        yield KEEP_ALIVE;
      }
      await sleep(clock, LOOK_INTERVAL_MS, stop.signal);
    }
    if (stop.isCancelled) return;
    page = await store.call('readStoredStream', { row, from, now: clock.now() });
  }
}

function notKept(): GatewayError {
  return new GatewayError('unavailable', 'The rest of the stream is not kept.');
}

/** The events of a page, without those before a number. */
function textFrom({ cipher, row }: FollowOptions, { batches }: StreamPage, from: number): string {
  return batches
    .map(({ first, content }) => {
      const bytes = cipher.open(content, eventsLocation(row, first));
      if (from <= first) return bytes.toString();
      const frames = createFramer().push(bytes);
      return Buffer.concat(frames.slice(from - first)).toString();
    })
    .join('');
}
