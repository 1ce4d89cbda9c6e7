/** Stored responses in the requests and answers of an operation, for protocols whose requests name earlier responses. */

import type { Json } from './json/json.ts';

export interface StoredAccess {
  /** Returns what a request names; undefined if it names nothing. */
  namedIn(body: Json): NamedResponses | undefined;
  /** Whether the client lets the response be stored. */
  mayStore(body: Json): boolean;
  /** Whether the client fetches the response later, and does not wait for it. */
  inBackground(body: Json): boolean;
  /** Marks a frame that holds a finished item of the output. */
  readonly itemMark: string;
  /** The finished item in a frame. */
  itemIn(frame: Json): FinishedItem | undefined;
  /** Id of the response in the data of the first event of a stream. */
  idIn(data: string): string | undefined;
  /** Path of the response object in the events of a stream. */
  readonly eventPath: readonly string[];
  /** Member of the response object that tells whether it is stored. */
  readonly storeMember: string;
  /** Member of a request and of the response object that names the conversation to which they belong. */
  readonly turnMember: string;
  /** Member of a request and of the response object that names the response that they continue. */
  readonly previousMember: string;
}

/** State of a model that its answer does not show. It is stored with the answer, for requests that continue it. */
export interface HiddenState {
  /** Index of the item in the output. */
  index: number;
  /** `own`: of the item itself; `before`: of reasoning without text that stood before it, or at the end of the output. */
  place: 'own' | 'before';
  /** In an envelope. */
  state: string;
}

/** Storage of an answer that is being encoded. */
export interface AnswerStorage {
  /** The answer will be stored. */
  isStored?: boolean;
  /** Filled with state that the answer does not show; absent if nothing of the answer is stored. */
  hidden?: HiddenState[];
}

/** Ids in a request. */
export interface NamedResponses {
  /** The response that it continues. */
  previous?: string;
  /** The conversation that it belongs to. */
  conversation?: string;
  /** A response with which its use of caches is compared. */
  comparison?: string;
  references: readonly ItemReference[];
}

export interface ItemReference {
  /** Index in the input. */
  index: number;
  id: string;
}

export interface FinishedItem {
  /** Index in the output. */
  index: number;
  item: Json;
}
