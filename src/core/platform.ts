/** Platform: how a provider is reached. Inference, videos and model discovery all go through it. */

import type { CredentialValue } from './credential.ts';
import type { GatewayError } from './errors.ts';
import type { Json } from './json/json.ts';

export interface Platform {
  /** The absolute URL of an operation, with its query. */
  url(destination: Destination): string;
  /**
   * Adds what proves the account to a request that is final otherwise, so that it can be signed. Headers that the request
   * has already are those of the operator or the client and stay. `now` in Unix milliseconds. Answers at once where
   * nothing has to be waited for; rejects with a GatewayError.
   */
  authorize(
    request: OutgoingRequest,
    credential: CredentialValue,
    now: number,
  ): OutgoingRequest | Promise<OutgoingRequest>;
  /** How its streams are framed where they are not server-sent events. */
  readonly framing?: Framing;
  /** What an error answer means where the platform says it in its own way; undefined leaves it to the protocol. */
  decodeError?(answer: UpstreamErrorAnswer): GatewayError | undefined;
}

export type Framing = 'aws-event-stream' | 'json-lines';

export interface UpstreamErrorAnswer {
  /** Absent for an error inside a stream. */
  readonly status?: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Undefined for what is no JSON object. */
  readonly body: Json;
}

/** An operation of an upstream; `path` is where the protocol or the interface itself has it. */
export type Destination =
  | {
      readonly type: 'inference';
      /** The id of the protocol that is spoken. */
      readonly protocol: string;
      readonly operation: string;
      /** As the upstream knows it. */
      readonly model: string;
      readonly stream: boolean;
      readonly path: string;
    }
  | { readonly type: 'video' | 'models'; readonly path: string };

/** A whole request, as it goes out. */
export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  /** With lower-cased names, but for those of the operator. */
  readonly headers: Record<string, string>;
  readonly body?: Buffer;
}
