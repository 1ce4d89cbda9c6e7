/** One request of a client on its way through the gateway. */

import type { Json } from '../core/json.ts';
import type { CatalogModel, ModelRules } from '../core/model.ts';
import type { EncoderOptions, Headers, Protocol } from '../core/protocol.ts';
import type { Provider } from '../core/provider.ts';
import type { Credential } from './credentials.ts';
import type { OutputLimit } from './reservation.ts';

export interface Call {
  requestId: string;
  /** The id of the client's key. */
  owner: string;
  protocol: Protocol;
  action: 'generate' | 'count';
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

/** A model at a provider: one place a call can go to. */
export interface Endpoint {
  provider: Provider;
  model: CatalogModel;
  credential: Credential;
  /** Extra request headers the operator configured. */
  headers: Record<string, string>;
  /** Members that the client wants this provider's body to have besides. */
  options?: Record<string, Json>;
}

/** The provider's rules with the model's own above them. */
export function rulesOf(endpoint: Endpoint): ModelRules {
  return { ...endpoint.provider.rules, ...endpoint.model.rules };
}

/** Whose opaque state this endpoint reads and writes. */
export function originOf({ provider, model }: Endpoint): string {
  return provider.family ? `${provider.id}/${provider.family(model.upstreamId)}` : provider.id;
}

export function encoderOptions(
  call: Call,
  endpoint: Endpoint,
  more: Pick<EncoderOptions, 'hideReasoning' | 'costOf'>,
): EncoderOptions {
  return {
    model: endpoint.model.id,
    created: Math.floor(Date.now() / 1000),
    includeUsage: call.protocol.streamUsage?.asked(call.body) ?? true,
    array: call.array,
    ...more,
  };
}

/** Where an answer goes. Everything is written in order; nothing after `end`. */
export interface Reply {
  head(status: number, headers: Record<string, string>): void;
  write(chunk: string | Buffer): void;
  /** The client reads too slowly: what is written now waits in memory. `onDrain` tells when to go on. */
  readonly full: boolean;
  /** Bytes that were written and wait in memory for the client. */
  readonly waiting: number;
  /** In place of the listener before: one attempt writes at a time. */
  onDrain(listener: () => void): void;
  /** Trailers are left out where the client's HTTP has none. */
  end(chunk?: string | Buffer, trailers?: Record<string, string>): void;
  /** Called once when the client went away before the end, at once if it is gone already. */
  onClose(listener: () => void): void;
  /** Called once when nothing of the answer waits in memory any more: the client has it or went away. */
  onDone(listener: () => void): void;
}
