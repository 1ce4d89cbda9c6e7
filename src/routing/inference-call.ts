/** One request of a client for a model, read and checked. */

import type { Json } from '../core/json/json.ts';
import type { Headers, Operation } from '../core/operation.ts';
import type { OutputLimit } from '../core/output.ts';
import type { Protocol } from '../core/protocol.ts';
import type { Endpoint } from './endpoint.ts';

export interface InferenceCall {
  requestId: string;
  /** The id of the client's key. */
  owner: string;
  protocol: Protocol;
  operation: Operation;
  stream: boolean;
  /** A streamed answer as one JSON array. */
  array: boolean;
  headers: Headers;
  bytes: Buffer;
  /** The parsed and checked `bytes`. */
  body: Json;
  /** What may be asked of an endpoint, where the key has a budget. */
  limitOf?(endpoint: Endpoint): OutputLimit;
  /** Hears of every request to an upstream before it is sent; the headers go along. */
  onAttempt?(): Record<string, string>;
}
