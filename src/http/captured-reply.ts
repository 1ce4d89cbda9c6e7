/** Responses of the gateway that are captured on their way to the client. */

import { Readable } from 'node:stream';
import type { ServerResponse } from '../http1/server-response.ts';
import type { Capture } from '../inference/capture/capture.ts';
import type { Reply } from '../inference/response/reply.ts';
import type { GatewayResponse } from './http-response.ts';
import { createReply } from './reply.ts';
import type { ResponseHeaders } from './response-headers.ts';

export function createCapturedReply(
  response: ServerResponse,
  common: Pick<ResponseHeaders, 'with'>,
  capture: Capture,
): Reply {
  let status = 0;
  const reply = createReply(response, {
    with(headers) {
      const all = common.with(headers);
      capture.responseBegan(status, all);
      return all;
    },
  });
  return {
    head(code, headers) {
      status = code;
      reply.head(code, headers);
    },
    write(chunk) {
      capture.responded(chunk);
      reply.write(chunk);
    },
    get full() {
      return reply.full;
    },
    get waiting() {
      return reply.waiting;
    },
    onDrain: (listener) => reply.onDrain(listener),
    end(chunk, trailers) {
      if (chunk !== undefined) capture.responded(chunk);
      // HTTP/1.0 has none.
      capture.complete(response.isCurrent ? trailers : undefined);
      reply.end(chunk, trailers);
    },
    onClose: (listener) => reply.onClose(listener),
    onDone: (listener) => reply.onDone(listener),
  };
}

export function captureWhole({ status, headers, body }: GatewayResponse, capture: Capture): void {
  capture.responseBegan(status, { 'content-type': 'application/json', ...headers });
  if (body !== undefined && !(body instanceof Readable))
    capture.responded(Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body));
  capture.complete();
}
