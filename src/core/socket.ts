/** WebSocket form of the operation `complete`: each message of a client is a request, and each event of its answer a message back. */

import type { Fields } from './fields.ts';
import type { Json } from './json/json.ts';
import type { KnownNames } from './json/names.ts';
import type { SseEvent } from './sse.ts';

export interface SocketForm {
  /** Path of the upgrade request. */
  readonly path: string;
  /** One-line summary for the API description. */
  readonly summary: string;
  /** Known member names of a message. */
  readonly names: KnownNames;
  /** Fields of the upgrade request that apply to its requests too. */
  requestHeaders(headers: Fields): Fields;
  /** The next message of a connection. `memory` is that of the connection. */
  createRequest(memory: SocketMemory): SocketRequest;
}

/** One message of a client, and the messages that answer it. */
export interface SocketRequest {
  /**
   * The request as a body of the operation. Throws `invalid_request` for a message that asks for nothing, and
   * `previous_response_not_found`. Sizes are in bytes; that of the body is an estimate.
   */
  read(message: Json, size: number): Promise<{ body: Json; size: number }>;
  /** Whether an upstream has to answer. */
  readonly needsUpstream: boolean;
  /** Id of the response that it continues, as the client named it; the body may name another one, or none. */
  readonly previous: string | undefined;
  /** The messages of a response without an upstream. */
  ownResponse(options: OwnResponseOptions): string[];
  /** The message for an event of the answer; undefined for an event that clients do not get. `headers` of the response go with its first message. */
  encodeEvent(event: SseEvent, headers?: Record<string, string>): string | undefined;
  /** The message for an error, which ends the request. */
  encodeError(error: { status: number; body: Json }, headers: Record<string, string>): string;
  /**
   * Called once, after the last message: keeps or forgets what later messages may refer to. `isStored`: the response is
   * stored unless it says otherwise.
   */
  end(isStored: boolean): Promise<void>;
}

export interface OwnResponseOptions {
  requestId: string;
  /** `<provider>/<model_id>`. */
  model: string;
  /** Unix seconds. */
  created: number;
}

/** Memory of one connection: conversations by the id that continues them. */
export interface SocketMemory {
  /** Body of the conversation that `id` continues; undefined if it is not remembered. */
  read(id: string): Buffer | undefined;
  /** Replaces the conversation that the stream kept before; keeps none if it is too large. `stream`: an id of the client, or ''. */
  keep(id: string, stream: string, bytes: Buffer): void;
  forget(id: string): void;
}
