/** Dependencies of stored responses. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import type { Cipher } from '../security/cipher.ts';
import type { Store } from '../store/store.ts';

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
  clock: Pick<Clock, 'now' | 'after'>;
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
