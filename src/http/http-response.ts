/** Response of the gateway itself, as handlers give it. */

import type { Readable } from 'node:stream';
import type { Json } from '../core/json/json.ts';

export interface HttpResponse {
  /** 200 if absent. */
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON unless it is text, bytes or a stream. */
  body?: Json | string | Buffer | Readable;
}
