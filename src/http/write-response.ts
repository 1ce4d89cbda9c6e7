/** Response of the gateway itself: written whole with its length, or streamed. */

import type { ServerResponse } from 'node:http';
import { finished, Readable } from 'node:stream';
import { type GatewayError, toGatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';

export interface GatewayResponse {
  status: number;
  headers: Record<string, string>;
  body: Json | string | Buffer | Readable;
}

/** `onFailed` is called when a stream fails before its first byte, with nothing written. */
export function writeResponse(
  response: ServerResponse,
  whole: GatewayResponse,
  onFailed: (error: GatewayError) => void,
): void {
  const { status, headers, body } = whole;
  if (body instanceof Readable) writeStream(response, { status, headers, body }, onFailed);
  else if (body === undefined) {
    if (status !== 204 && status !== 304) headers['content-length'] ??= '0';
    response.writeHead(status, headers).end();
  } else {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    headers['content-type'] ??= `${typeof body === 'string' ? 'text/plain' : 'application/json'}; charset=utf-8`;
    headers['content-length'] = String(bytes.length);
    response.writeHead(status, headers).end(bytes);
  }
}

/** The head is written with the first byte, so that a stream that cannot be opened is still an error. */
function writeStream(
  response: ServerResponse,
  { status, headers, body }: GatewayResponse & { body: Readable },
  onFailed: (error: GatewayError) => void,
): void {
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries(headers)));
  finished(body, { writable: false }, (error) => {
    if (!error || response.destroyed) return;
    if (response.headersSent) {
      response.destroy();
      return;
    }
    for (const name of Object.keys(headers)) response.removeHeader(name);
    onFailed(toGatewayError(error));
  });
  finished(response, () => body.destroy());
  body.pipe(response);
}
