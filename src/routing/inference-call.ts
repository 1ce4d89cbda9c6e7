/** Inference call: a parsed and validated model request of a client. */

import type { Fields } from '../core/fields.ts';
import type { Json } from '../core/json/json.ts';
import type { Operation } from '../core/operation.ts';
import type { OutputLimit } from '../core/output.ts';
import type { Protocol } from '../core/protocol.ts';
import type { AccountPin } from './account-pin.ts';
import type { AnswerKeeper } from './answer-keeper.ts';
import type { CallWatcher } from './call-watcher.ts';
import type { ConversationTurn } from './conversation-turn.ts';
import type { Endpoint } from './endpoint.ts';

export interface InferenceCall {
  requestId: string;
  /** The id of the API key. */
  owner: string;
  protocol: Protocol;
  operation: Operation;
  stream: boolean;
  /** Stream the response as one JSON array. */
  array: boolean;
  headers: Fields;
  bytes: Buffer;
  /** The parsed and validated `bytes`; a model that they leave out is filled in. */
  body: Json;
  /** Facts that a scan found in the bytes; of no use once the call has other bytes. */
  scanned?: ScannedBytes | undefined;
  /** Output limit for an endpoint, if the key has a budget. */
  limitOf?: ((endpoint: Endpoint) => OutputLimit) | undefined;
  /** The body as the client wrote it, if it named stored responses that the gateway has put in their place. */
  asked?: Json | undefined;
  /** Id of the response that it continues as the client named it, where the body of the client is not this one: over a WebSocket. */
  previous?: string | undefined;
  /** The only account that may serve the call. */
  pin?: AccountPin | undefined;
  /** Stores the answer, or only its items of a conversation; absent if nothing is stored. */
  keeper?: AnswerKeeper | undefined;
  /** Observes requests to upstreams and their responses; absent unless a capture was asked for. */
  watcher?: CallWatcher | undefined;
  /** Place of the call in a stored conversation; absent if it belongs to none. */
  turn?: ConversationTurn | undefined;
  /** Time at which its head arrived, by the clock of the deadlines; absent if nobody asks. */
  arrivedAt?: number | undefined;
  /** Called before each request to an upstream; returns headers to add to it. */
  onAttempt?(): Record<string, string>;
}

export interface ScannedBytes {
  bytes: Buffer;
  /** Bits of the names that members have, see `inference/sought-names.ts`. */
  found: number;
}
