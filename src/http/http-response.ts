/** Response of the gateway itself, as handlers give it. */

import type { Readable } from 'node:stream';
import type { Json } from '../core/json/json.ts';

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
