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
import { SMALL_READ_BYTES } from './context.ts';
import { eventsLocation } from './event-log.ts';

export interface FollowOptions {
  store: Pick<Store, 'call'>;
  cipher: Cipher;
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  row: string;
  /** Number of the first event that is wanted. */
  from: number;
  /** Reserves memory for bytes that the reader has not taken; returns its release, or undefined if there is no room. */
  hold(bytes: number): (() => void) | undefined;
  /** Lets few streams of the owner go on without room, so that no two wait for each other; returns the end of that. */
  goWithoutRoom(bytes: number): (() => void) | undefined;
  /** The response object, as it is stored now; undefined if it was deleted. Throws what `reserve` throws. */
  response(reserve: (bytes: number) => void): Promise<Json | undefined>;
  /** The response object with which the stream ends if the response is deleted before it has ended. */
  cancelled(): Json;
}

/** Interval between two looks for new events. */
const LOOK_INTERVAL_MS = 200;
const KEEP_ALIVE_MS = 15_000;
/** Time without room after which a stream may go on without. */
const PATIENCE_MS = 1000;
/** Bytes of events that need no memory of their own: more than a batch of a fast stream. */
const PAGE_BYTES = 2 * SMALL_READ_BYTES;
const OPEN = ['queued', 'in_progress'];

/**
 * Waits for room in the memory before it reads large events. Where there is none for a second, few streams of a key go on without,
 * until their readers have taken the part. What it yields is held until the next is asked for. Throws while nothing was yielded if the
 * stream is not kept; later, the rest is missing.
 */
export function followStream(
  options: FollowOptions,
  first: StreamPage,
  stop: Cancellation,
): AsyncGenerator<string | Buffer> {
  return follow(options, new HeldMemory(options), { first, stop });
}

/** No generator delegates to it (`yield*`): that one would keep the last text until the next. */
async function* follow(
  options: FollowOptions,
  memory: HeldMemory,
  { first, stop }: { first: StreamPage; stop: Cancellation },
): AsyncGenerator<string | Buffer> {
  const { store, clock, row } = options;
  const read = (room: number) => store.call('readStoredStream', { row, from, now: clock.now(), room });
  let from = options.from;
  let page: StreamPage | undefined = first;
  let { next } = first;
  let isOpen = true;
  // A client that waits for an event learns at once that there is a stream.
  let silentSince = clock.monotonic() - KEEP_ALIVE_MS;
  try {
    for (;;) {
      if (!page) {
        // The client was slower than the events are kept, or the response is deleted.
        if (!isOpen || (await currentResponse(options, memory))) throw notKept();
        if (next >= from) yield* lastEvent(options.cancelled(), from);
        return;
      }
      ({ next } = page);
      isOpen = OPEN.includes(page.status);
      const bytes = page.needs ?? bytesOf(page);
      const hasRoom = memory.growTo(bytes);
      if (hasRoom && page.needs !== undefined) {
        page = await read(bytes);
        continue;
      }
      if (hasRoom) {
        const text = textFrom(options, page, from);
        if (text !== '') {
          silentSince = clock.monotonic();
          yield text;
        }
        from = Math.max(from, (page.batches.at(-1)?.last ?? -1) + 1);
      }
      memory.release();
      if (!hasRoom || page.batches.length === 0) {
        if (hasRoom && page.isTruncated) throw notKept();
        if (hasRoom && !isOpen) {
          if (next < from) return;
          const response = await currentResponse(options, memory);
          if (!response) throw notKept();
          if (response !== 'no-room') {
            yield* lastEvent(response, next);
            return;
          }
        }
        if (clock.monotonic() - silentSince >= KEEP_ALIVE_MS) {
          silentSince = clock.monotonic();
          yield KEEP_ALIVE;
        }
        await sleep(clock, LOOK_INTERVAL_MS, stop.signal);
      }
      if (stop.isCancelled) return;
      page = await read(PAGE_BYTES);
    }
  } finally {
    memory.release();
  }
}

/** The response object, with memory held for it. */
async function currentResponse({ response }: FollowOptions, memory: HeldMemory): Promise<Json | undefined | 'no-room'> {
  const full = new Error('no room');
  let bytes = 0;
  try {
    return await response((more) => {
      bytes += more;
      if (!memory.growTo(bytes)) throw full;
    });
  } catch (error) {
    memory.release();
    if (error === full) return 'no-room';
    throw error;
  }
}

type MemoryOptions = Pick<FollowOptions, 'hold' | 'goWithoutRoom' | 'clock'>;

/** Memory for what the reader has not taken. A small part needs none of its own. */
class HeldMemory {
  readonly #options: MemoryOptions;
  #bytes = PAGE_BYTES;
  #releases: (() => void)[] = [];
  #noRoomSince: number | undefined;

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  /** False, without a change, if there is no room. */
  growTo(bytes: number): boolean {
    // Empty pages come between two tries to have room for the last event.
    if (bytes <= this.#bytes) return true;
    const { hold, goWithoutRoom, clock } = this.#options;
    let release = hold(bytes - this.#bytes);
    if (!release) {
      this.#noRoomSince ??= clock.monotonic();
      if (clock.monotonic() - this.#noRoomSince >= PATIENCE_MS) release = goWithoutRoom(bytes);
    }
    if (!release) return false;
    this.#releases.push(release);
    this.#bytes = bytes;
    this.#noRoomSince = undefined;
    return true;
  }

  release(): void {
    for (const release of this.#releases) release();
    this.#releases = [];
    this.#bytes = PAGE_BYTES;
  }
}

function bytesOf({ batches }: StreamPage): number {
  return batches.reduce((sum, { content }) => sum + content.length, 0);
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
