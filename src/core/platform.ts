/** Platform: URLs, request authorization and stream framing of a provider. Used by inference, videos and model discovery. */

import type { CredentialValue } from './credential.ts';
import type { GatewayError } from './errors.ts';
import type { Json } from './json/json.ts';

export interface Platform {
  /** The absolute URL of an operation, with its query. */
  url(destination: Destination): string;
  /**
   * Adds authentication headers to an otherwise final request, so that it can be signed. Existing headers of the
   * operator or the client are kept. `now` in Unix milliseconds. Returns synchronously if
   * possible; rejects with a GatewayError.
   */
  authorize(
    request: OutgoingRequest,
    credential: CredentialValue,
    now: number,
  ): OutgoingRequest | Promise<OutgoingRequest>;
  /** Stream framing, if not server-sent events. */
  readonly framing?: Framing;
  /** Decodes error responses in the format of the platform; undefined leaves the response to the protocol. */
  decodeError?(response: UpstreamErrorResponse): GatewayError | undefined;
}

export type Framing = 'aws-event-stream' | 'json-lines';

export interface UpstreamErrorResponse {
  /** Absent for an error inside a stream. */
  readonly status?: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Undefined if it is not a JSON object. */
  readonly body: Json;
  /** Unix milliseconds; absent for an error inside a stream. */
  readonly now?: number;
}

/** An operation of an upstream; `path` is its path in the protocol or video API. */
export type Destination =
  | {
      readonly type: 'inference';
      /** Protocol id. */
      readonly protocol: string;
      readonly operation: string;
      /** Upstream model id. */
      readonly model: string;
      readonly stream: boolean;
      readonly path: string;
    }
  | { readonly type: 'video' | 'models'; readonly path: string };

/** A complete outgoing request. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  /** Names in lower case, except those set by the operator. */
  readonly headers: Record<string, string>;
  readonly body?: OutgoingBody;
}

/** Names of headers that say how a request is framed, which its connection does. */
export const FRAMING_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** A large body that was changed in places is a list of slices, which are sent one after the other. */
export type OutgoingBody = Buffer | readonly Buffer[];

/** The bytes of a body, e.g. to sign them. */
export function bytesOf(body: OutgoingBody = []): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.concat(body);
}
