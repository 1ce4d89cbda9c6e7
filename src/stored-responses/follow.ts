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
  const memory = new HeldMemory(options);
  return follow(new KeptEvents(options, memory), { first, stop, memory, clock: options.clock });
}

interface Progress extends Pick<FollowOptions, 'clock'> {
  first: StreamPage;
  stop: Cancellation;
  memory: HeldMemory;
}

/** No generator delegates to it (`yield*`): that one would keep the last text until the next. */
async function* follow(events: KeptEvents, { first, stop, memory, clock }: Progress): AsyncGenerator<string | Buffer> {
  // A client that waits for an event learns at once that there is a stream.
  let silentSince = clock.monotonic() - KEEP_ALIVE_MS;
  let page: StreamPage | undefined = first;
  try {
    while (!stop.isCancelled) {
      const part = await events.take(page);
      if (typeof part === 'object') {
        yield* part;
        return;
      }
      if (part !== undefined) {
        silentSince = clock.monotonic();
        yield part;
      }
      memory.release();
      if (part === undefined) {
        if (clock.monotonic() - silentSince >= KEEP_ALIVE_MS) {
          silentSince = clock.monotonic();
          yield KEEP_ALIVE;
        }
        await sleep(clock, LOOK_INTERVAL_MS, stop.signal);
      }
      page = await events.read(PAGE_BYTES);
    }
  } finally {
    memory.release();
  }
}

/** The last event in pieces, or nothing if the reader has it. */
type LastEvent = AsyncIterable<string | Buffer> | Iterable<never>;

/** The events that are kept, from a number on. */
class KeptEvents {
  readonly #options: FollowOptions;
  readonly #memory: HeldMemory;
  #from: number;
  /** As the last page says: number of the event after the last one that is kept, and whether more may follow. */
  #next = 0;
  #isOpen = true;

  constructor(options: FollowOptions, memory: HeldMemory) {
    this.#options = options;
    this.#memory = memory;
    this.#from = options.from;
  }

  /** A page with at most so many bytes; undefined if the stream is not kept, or deleted with its response. */
  read(room: number): Promise<StreamPage | undefined> {
    const { store, row, clock } = this.#options;
    return store.call('readStoredStream', { row, from: this.#from, now: clock.now(), room });
  }

  /** The text of a page, or the end of the stream; undefined while there are no events, or no room for the next ones. */
  async take(page: StreamPage | undefined): Promise<string | LastEvent | undefined> {
    if (!page) return this.#endOfMissing();
    this.#next = page.next;
    this.#isOpen = OPEN.includes(page.status);
    if (!this.#memory.growTo(page.needs ?? bytesOf(page))) return undefined;
    if (page.needs !== undefined) return this.take(await this.read(page.needs));
    const batch = page.batches.at(-1);
    if (batch) {
      const text = textFrom(this.#options, page, this.#from);
      this.#from = Math.max(this.#from, batch.last + 1);
      return text;
    }
    if (page.isTruncated) throw notKept();
    return this.#isOpen ? undefined : this.#endOfFinished();
  }

  /** The client was slower than the events are kept, or the response is deleted. */
  async #endOfMissing(): Promise<LastEvent> {
    if (!this.#isOpen || (await currentResponse(this.#options, this.#memory))) throw notKept();
    return this.#next < this.#from ? [] : lastEvent(this.#options.cancelled(), this.#from);
  }

  async #endOfFinished(): Promise<LastEvent | undefined> {
    this.#memory.release();
    if (this.#next < this.#from) return [];
    const response = await currentResponse(this.#options, this.#memory);
    if (!response) throw notKept();
    return response === 'no-room' ? undefined : lastEvent(response, this.#next);
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
