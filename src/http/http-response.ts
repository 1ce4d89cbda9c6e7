/** Response of the gateway itself: as handlers give it, and written whole with its length, or streamed. */

import { finished, Readable } from 'node:stream';
import { type GatewayError, toGatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { ServerResponse } from '../http1/server-response.ts';

/** Text, whole or as it is made, that a handler of JSON routes gives in place of JSON. */
export class TextBody {
  readonly text: string | Readable;
  readonly headers: Record<string, string>;

  constructor(text: string | Readable, headers: Record<string, string>) {
    this.text = text;
    this.headers = headers;
  }
}

export interface HttpResponse {
  /** 200 if absent. */
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON unless it is text, bytes or a stream. */
  body?: Json | string | Buffer | Readable;
}

/** Response of a handler, completed with defaults. */
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
    response.writeHead(status, headers);
    response.end();
  } else {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
    headers['content-type'] ??= `${typeof body === 'string' ? 'text/plain' : 'application/json'}; charset=utf-8`;
    headers['content-length'] = String(bytes.length);
    response.writeHead(status, headers);
    response.end([bytes], bytes.length);
  }
}

/** The head is written with the first byte, so that a stream that cannot be opened is still an error. */
function writeStream(
  response: ServerResponse,
  { status, headers, body }: GatewayResponse & { body: Readable },
  onFailed: (error: GatewayError) => void,
): void {
  function begin(): void {
    if (!response.headersSent) response.writeHead(status, headers);
  }

  finished(body, { writable: false }, (error) => {
    if (response.destroyed) return;
    if (error && response.headersSent) response.destroy();
    else if (error) onFailed(toGatewayError(error));
    else endStream();
  });
  function endStream(): void {
    try {
      begin();
      response.end();
    } catch (error) {
      onFailed(toGatewayError(error));
    }
  }
  response.on('close', () => body.destroy());
  response.onDrain = () => body.resume();
  body.on('data', (chunk: Buffer | string) => {
    try {
      begin();
    } catch (error) {
      body.destroy(error as Error);
      return;
    }
    response.write([chunk], Buffer.byteLength(chunk));
    if (response.isFull) body.pause();
  });
}
