/** Dependencies of stored responses. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Cipher } from '../security/cipher.ts';
import type { Store } from '../store/store.ts';
import type { NeededRoom, ReadRoom } from '../store/stored-rows.ts';

export interface ResponseSettings {
  /** Whether responses are stored. */
  store: boolean;
  keepMs: number;
  /** Limits of each key. */
  maxResponses: number;
  maxBytes: number;
  /** Limits of a conversation that is sent again. */
  maxChainItems: number;
  maxChainBytes: number;
  /** Unfinished background responses of a key. */
  maxBackground: number;
  /** Milliseconds from the request to the end of a background response. */
  backgroundTimeoutMs: number;
  /** Side that compacts a conversation where the provider does not. */
  compaction: 'model' | 'upstream';
}

export interface StoredContext {
  store: Pick<Store, 'call'>;
  cipher: Cipher;
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  settings(): ResponseSettings;
  log: Pick<Logger, 'warn' | 'error'>;
  /** A response was not stored although the client may expect it. */
  onNotStored(): void;
}

/** Limits of a conversation that is sent again. */
export function limitsOf({ settings }: StoredContext): { maxItems: number; maxBytes: number } {
  const { maxChainItems: maxItems, maxChainBytes: maxBytes } = settings();
  return { maxItems, maxBytes };
}

/** Contents of up to this size are read before memory for them is reserved. */
export const SMALL_READ_BYTES = 64 * 1024;

/** Reserves memory for contents. Fails if there is no room for them. */
type Reserve = (bytes: number) => void | Promise<void>;

/**
 * Reads contents for which memory is reserved before they are read, or after it if they are small. `sizeOf` returns the
 * bytes of a result. Throws what `reserve` throws.
 */
export async function readReserved<Result>(
  read: (room: number) => Promise<Result | NeededRoom>,
  reserve: Reserve,
  sizeOf: (result: Result) => number,
): Promise<Result> {
  let reserved = 0;
  for (;;) {
    const found = await read(Math.max(SMALL_READ_BYTES, reserved));
    // They may have grown meanwhile.
    const bytes = isNeed(found) ? found.needs : sizeOf(found);
    if (bytes > reserved) await reserve(bytes - reserved);
    if (!isNeed(found)) return found;
    reserved = bytes;
  }
}

/**
 * Reads contents, whose parts are read after them. Where `read` returns undefined, because a part is gone, they were changed or
 * deleted in between: they are read once more, in the memory that is reserved.
 */
export async function readWhole<Result>(
  reserve: Reserve,
  read: (reserve: Reserve) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  let reserved = 0;
  function reading(): Promise<Result | undefined> {
    let needed = 0;
    return read((bytes) => {
      needed += bytes;
      const more = needed - reserved;
      if (more <= 0) return undefined;
      reserved = needed;
      return reserve(more);
    });
  }
  return (await reading()) ?? reading();
}

function isNeed<Result>(found: Result | NeededRoom): found is NeededRoom {
  return typeof found === 'object' && found !== null && 'needs' in found;
}

/** Sum of the sizes of contents. */
export function wholeBytesOf(contents: readonly { wholeBytes: number }[]): number {
  return contents.reduce((sum, { wholeBytes }) => sum + wholeBytes, 0);
}

/** Pieces of large work of one owner that are done at once. */
const MAX_TURNS = 2;

/** Waits for a turn of an owner; the returned function ends it, and may be called again. */
export type TakeTurn = (owner: string) => Promise<() => void>;

/** Turns at large work, so that little memory is used beyond the reservation, and other requests are served meanwhile. */
export function createTurns(): TakeTurn {
  const owners = new Map<string, { running: number; waiting: (() => void)[] }>();

  return async (owner) => {
    const turns = owners.get(owner) ?? { running: 0, waiting: [] };
    owners.set(owner, turns);
    if (turns.running < MAX_TURNS) turns.running++;
    else await new Promise<void>((resolve) => turns.waiting.push(resolve));
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const next = turns.waiting.shift();
      if (next) setImmediate(next);
      else if (--turns.running === 0) owners.delete(owner);
    };
  };
}

/** The store with few large reads of contents at once for each owner, or of the events of each stream. */
export function readingInTurn(store: Pick<Store, 'call'>): Pick<Store, 'call'> {
  const takeTurn = createTurns();

  async function inTurn<Result>(owner: string, read: () => Promise<Result>): Promise<Result> {
    const end = await takeTurn(owner);
    try {
      return await read();
    } finally {
      end();
    }
  }

  return {
    call(name, parameters) {
      const read = () => store.call(name, parameters);
      const { owner, row = '', room = 0 } = parameters as { owner?: string; row?: string } & ReadRoom;
      return room > SMALL_READ_BYTES ? inTurn(owner ?? row, read) : read();
    },
  };
}
