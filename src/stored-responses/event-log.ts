/** Log of the events of a background response: numbered, and stored in batches soon after they came. */

import type { Clock } from '../core/clock.ts';
import type { Json } from '../core/json/json.ts';
import { loggedEvent } from '../protocols/responses/background.ts';
import type { Cipher } from '../security/cipher.ts';
import type { Store } from '../store/store.ts';
import type { EventBatch } from '../store/stored-rows.ts';

export interface EventLogOptions {
  store: Pick<Store, 'call'>;
  cipher: Cipher;
  clock: Pick<Clock, 'after'>;
  row: string;
  /** The response object as it was accepted. */
  accepted: Json;
  /** Number of the first event. */
  next: number;
  /** Repeats a write until the store is there. */
  durably<Result>(write: () => Promise<Result>): Promise<Result>;
}

export interface EventLog {
  add(event: Json): void;
  readonly full: boolean;
  /** Bytes that are not stored yet. */
  readonly waiting: number;
  onDrain(listener: () => void): void;
  /** Resolves when everything is stored, or cannot be. */
  close(): Promise<void>;
}

/** Events are stored when they have so many bytes, or after this time. */
const BATCH_BYTES = 64 * 1024;
const BATCH_DELAY_MS = 100;
/** Bytes that may wait before the upstream has to. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Bytes of one stream that are kept. */
const MAX_STREAM_BYTES = 8 * 1024 * 1024;

/** Encrypts a batch of events; `first` is the number of its first event. */
export function sealEvents(
  cipher: Cipher,
  row: string,
  { first, texts }: { first: number; texts: string[] },
): EventBatch {
  const content = cipher.seal(Buffer.from(texts.join('')), eventsLocation(row, first));
  return { first, last: first + texts.length - 1, content };
}

/** Location to which the encryption of a batch is bound; `first` is the number of its first event. */
export function eventsLocation(row: string, first: number): { table: string; id: string; column: string } {
  return { table: 'stored_event', id: `${row}/${first}`, column: 'content' };
}

export function createEventLog({ store, cipher, clock, row, accepted, next, durably }: EventLogOptions): EventLog {
  let texts: string[] = [];
  let first = next;
  let bytes = 0;
  let writing: Promise<void> | undefined;
  let isOver = false;
  let cancelTimer: (() => void) | undefined;
  let onDrain = (): void => {};

  function add(event: Json): void {
    const text = isOver ? undefined : loggedEvent(event, { number: first + texts.length, accepted });
    if (text === undefined) return;
    texts.push(text);
    bytes += text.length;
    if (bytes >= BATCH_BYTES) flush();
    else cancelTimer ??= clock.after(BATCH_DELAY_MS, flush);
  }

  function flush(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    if (!writing && texts.length > 0) writing = write();
  }

  async function write(): Promise<void> {
    const batch = sealEvents(cipher, row, { first, texts });
    first += texts.length;
    texts = [];
    bytes = 0;
    try {
      const append = { row, batch, maxBytes: MAX_STREAM_BYTES };
      if (!(await durably(() => store.call('appendStoredEvents', append)))) isOver = true;
    } catch {
      // The run is being ended.
      isOver = true;
    }
    writing = undefined;
    if (isOver) {
      texts = [];
      bytes = 0;
    }
    if (bytes >= BATCH_BYTES) flush();
    else if (texts.length > 0) cancelTimer ??= clock.after(BATCH_DELAY_MS, flush);
    onDrain();
  }

  return {
    add,
    get full() {
      return bytes > MAX_WAITING_BYTES;
    },
    get waiting() {
      return bytes;
    },
    onDrain(listener) {
      onDrain = listener;
    },
    async close() {
      for (flush(); writing; flush()) await writing;
      cancelTimer?.();
    },
  };
}
