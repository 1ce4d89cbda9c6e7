/** Reply to the client over HTTP, with backpressure and disconnect events. */

import type { ServerResponse } from 'node:http';
import type { Reply } from '../inference/response/reply.ts';
import type { ResponseHeaders } from './response-headers.ts';

/** Size up to which copying a body behind its head is cheaper than writing the two as a list. */
const SMALL_BYTES = 16 * 1024;

/** `common` adds the headers of every response, such as the request id. */
export function createReply(response: ServerResponse, common: Pick<ResponseHeaders, 'with'>): Reply {
  let drained = (): void => undefined;
  response.on('drain', () => drained());
  return {
    head(status, headers) {
      const all = common.with(headers);
      if (response.req.httpVersion === '1.0') delete all.trailer;
      response.writeHead(status, all);
    },
    write(chunk) {
      if (chunk.length > 0 && !response.destroyed) response.write(chunk);
    },
    get full() {
      return response.writableNeedDrain;
    },
    get waiting() {
      return response.writableLength;
    },
    onDrain(listener) {
      drained = listener;
    },
    end(chunk, trailers) {
      if (response.destroyed) return;
      if (trailers) response.addTrailers(trailers);
      if (Buffer.isBuffer(chunk) && chunk.length <= SMALL_BYTES) response.end(chunk.toString('latin1'), 'latin1');
      else response.end(chunk);
    },
    onClose(listener) {
      if (response.destroyed) return listener();
      response.on('close', () => {
        if (!response.writableFinished) listener();
      });
    },
    onDone(listener) {
      if (response.closed) return listener();
      response.on('close', listener);
    },
  };
}
