/** Dependencies of stored responses. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Cipher } from '../security/cipher.ts';
import type { Store, StoreOperationName } from '../store/store.ts';

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

/** Reads of contents of one owner that run at once. */
const MAX_READS = 2;
/** Operations whose result has contents, of a size that is known only with them. */
const CONTENT_READS: ReadonlySet<StoreOperationName> = new Set([
  'readStoredResponse',
  'readStoredChain',
  'findStoredItems',
  'findConversationItems',
  'readWholeConversation',
  'readConversationPage',
  'readConversationItem',
]);

/** The store with few reads of contents at once for each owner, so that the memory for one is reserved before the next is there. */
export function readingInTurn(store: Pick<Store, 'call'>): Pick<Store, 'call'> {
  const readers = new Map<string, { running: number; waiting: (() => void)[] }>();

  async function inTurn<Result>(owner: string, read: () => Promise<Result>): Promise<Result> {
    const reader = readers.get(owner) ?? { running: 0, waiting: [] };
    readers.set(owner, reader);
    if (reader.running < MAX_READS) reader.running++;
    else await new Promise<void>((resolve) => reader.waiting.push(resolve));
    try {
      return await read();
    } finally {
      const next = reader.waiting.shift();
      if (next) setImmediate(next);
      else if (--reader.running === 0) readers.delete(owner);
    }
  }

  return {
    call(name, parameters) {
      const read = () => store.call(name, parameters);
      return CONTENT_READS.has(name) ? inTurn((parameters as { owner: string }).owner, read) : read();
    },
  };
}
