/** Streams of background responses: opened for a reader from an event on, on any gateway. */

import { Readable } from 'node:stream';
import { Cancellation } from '../core/cancellation.ts';
import type { StoredResponse } from '../records/stored-response.ts';
import type { StoredContext } from './context.ts';
import { noStream, streamTooLong, tooManyReaders } from './errors.ts';
import type { FollowOptions } from './follow.ts';

export interface StreamRequest extends Pick<FollowOptions, 'from' | 'hold' | 'response' | 'cancelled'> {
  stored: StoredResponse;
}

export interface BackgroundStreams {
  /** Undefined if no events are kept and the response has ended. Throws `invalid_request` and `rate_limit_exceeded`. */
  open(request: StreamRequest): Promise<Readable | undefined>;
}

/** Streams of one key that are read at once from this gateway. */
const MAX_READERS = 100;
/** Bytes of parts of one key without room, beside one part of any size: a slow reader of a large part holds up no small ones. */
const SMALL_PARTS_BYTES = 512 * 1024;
const OPEN = ['queued', 'in_progress'];

export function createBackgroundStreams(context: Pick<StoredContext, 'store' | 'cipher' | 'clock'>): BackgroundStreams {
  const { store, clock } = context;
  /** Number of readers of each key. */
  const readers = new Map<string, number>();
  /** Bytes of small parts without room, of each key. */
  const smallParts = new Map<string, number>();
  /** Keys of which a part of any size is without room. */
  const largeParts = new Set<string>();

  function count(owner: string, change: 1 | -1): void {
    const now = (readers.get(owner) ?? 0) + change;
    if (now === 0) readers.delete(owner);
    else readers.set(owner, now);
  }

  function goWithoutRoom(owner: string, bytes: number): (() => void) | undefined {
    const smaller = smallParts.get(owner) ?? 0;
    if (smaller + bytes <= SMALL_PARTS_BYTES) {
      smallParts.set(owner, smaller + bytes);
      return () => {
        const left = (smallParts.get(owner) ?? 0) - bytes;
        if (left === 0) smallParts.delete(owner);
        else smallParts.set(owner, left);
      };
    }
    if (largeParts.has(owner)) return undefined;
    largeParts.add(owner);
    return () => largeParts.delete(owner);
  }

  return {
    async open({ stored: { row, owner, status }, from, ...more }) {
      if ((readers.get(owner) ?? 0) >= MAX_READERS) throw tooManyReaders(MAX_READERS);
      const page = await store.call('readStoredStream', { row, from, now: clock.now(), room: 0 });
      if (!page && OPEN.includes(status))
        throw noStream('The response is not streamed; create it with stream set to true.');
      if (!page && from > 0) throw noStream('The events of the response are not kept any more.');
      if (!page) return undefined;
      if (page.isTruncated && from >= page.next) throw streamTooLong();
      const { followStream } = await import('./follow.ts');
      const stop = new Cancellation();
      count(owner, 1);
      const options = { ...context, row, from, goWithoutRoom: (bytes: number) => goWithoutRoom(owner, bytes), ...more };
      const body = streamOf(followStream(options, page, stop));
      body.on('close', () => {
        stop.cancel();
        count(owner, -1);
      });
      return body;
    },
  };
}

/** Reads nothing ahead, unlike `Readable.from`, because events take memory until the client has read them. */
function streamOf(pages: AsyncGenerator<string | Buffer>): Readable {
  return new Readable({
    objectMode: true,
    highWaterMark: 0,
    read() {
      pages.next().then(
        ({ done, value }) => this.push(done ? null : value),
        (error) => this.destroy(error),
      );
    },
    destroy(error, callback) {
      // Where a page is being read, it ends after that.
      pages.return(undefined).catch(() => undefined);
      callback(error);
    },
  });
}
