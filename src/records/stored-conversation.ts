/** Stored conversations: items in an order, which responses continue and append to. */

import type { StoredPart } from './stored-response.ts';

/** Times are Unix milliseconds. */
export interface StoredConversation {
  id: string;
  /** Id of the API key. */
  owner: string;
  createdAt: number;
  /** Time of the last use. */
  changedAt: number;
  expiresAt: number;
  /** Encrypted. */
  metadata: Uint8Array;
  /** Size of its items with their parts. */
  wholeBytes: number;
}

export interface StoredItem {
  /** Unique and random. */
  row: string;
  /** Id that the client sees; unique within its conversation. */
  id: string;
  /** Encrypted. */
  content: Uint8Array;
  /** Size of the content with its parts. */
  wholeBytes: number;
}

export interface NewStoredItem extends StoredItem {
  /** Id to store if the conversation already has an item with `id`. */
  otherId: string;
  /** Digests of its parts. */
  digests: readonly string[];
}

/** Items to add at the end of a conversation. */
export interface NewItems {
  items: readonly NewStoredItem[];
  parts: readonly StoredPart[];
}
