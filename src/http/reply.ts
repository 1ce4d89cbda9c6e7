/** Writes an answer of the relay to a socket, with backpressure and word of a client that left. */

import type { ServerResponse } from 'node:http';
import type { Reply } from '../inference/call.ts';

/** `common` are headers of every answer, such as the request id. */
export function createReply(response: ServerResponse, common: Record<string, string>): Reply {
  return {
    head(status, headers) {
      response.writeHead(status, { ...common, ...headers });
    },
    write(chunk) {
      if (chunk.length > 0 && !response.destroyed) response.write(chunk);
    },
    get full() {
      return response.writableNeedDrain;
    },
    onDrain(listener) {
      response.on('drain', listener);
    },
    end(chunk) {
      if (!response.destroyed) response.end(chunk);
    },
    onClose(listener) {
      if (response.destroyed) return listener();
      response.on('close', () => {
        if (!response.writableFinished) listener();
      });
    },
  };
}
