/** Exchange: a model request of a client and its response, over HTTP or as messages of a WebSocket. */

import type { Fields } from '../core/fields.ts';
import type { Protocol } from '../core/protocol.ts';
import type { Capture } from '../inference/capture/capture.ts';
import type { Reply } from '../inference/response/reply.ts';
import type { Key } from '../keys/store.ts';
import type { HttpResponse } from './http-response.ts';
import type { Observation } from './observation.ts';
import type { RequestHold } from './request-hold.ts';
import type { ResponseHeaders } from './response-headers.ts';

export interface Exchange {
  readonly requestId: string;
  readonly protocol: Protocol;
  readonly request: { readonly headers: Fields };
  /** Headers of the response; over a WebSocket only those of an error are sent. */
  readonly headers: ResponseHeaders;
  readonly hold: RequestHold;
  readonly observation: Observation;
  /** Authenticated key. */
  key?: Key;
  /** Capture of the request; absent unless a session asks for it. */
  readonly capture?: Capture | undefined;
  /** Bytes of the request. */
  body: Buffer;
  /** Whether the client has disconnected. */
  readonly isGone: boolean;
  createReply(): Reply;
  /** Responds without an upstream. */
  send(response: HttpResponse): void;
}
