/** Stored responses: responses of the Responses protocol that later requests may name. */

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** Times are Unix milliseconds. */
export interface StoredResponse {
  /** Unique and random. `id` is not unique: some servers count theirs from 1. */
  row: string;
  /** Id of the API key. */
  owner: string;
  /** Id that the client sees. */
  id: string;
  status: ResponseStatus;
  background: boolean;
  createdAt: number;
  expiresAt: number;
  /** `row` of the response that it continues. */
  previous?: string;
  /** Model as the client named it. */
  model: string;
  provider: string;
  /** Id of the provider's credential, for a response that the provider keeps. */
  credential?: string;
  /** Encrypted; absent if the provider keeps it. */
  content?: Uint8Array;
  /** Number of input and output items. */
  items: number;
  /** Size of the content with its parts. */
  wholeBytes: number;
}

/** An id by which requests name a response or one of its output items. */
export interface StoredName {
  kind: 'response' | 'item';
  name: string;
  /** Index of the item in the output. */
  position: number;
}

/** A large part of a content, stored once for each owner. */
export interface StoredPart {
  /** Keyed digest of the plain content. */
  digest: string;
  /** Encrypted. */
  content: Uint8Array;
}
