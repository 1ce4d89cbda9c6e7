/** A request for the bytes of a video and the answer to it, as any HTTP server can take and send them. */

import type { Readable } from 'node:stream';
import { extensionOf } from './media-type.ts';

export interface ContentRequest {
  method: 'GET' | 'HEAD';
  headers: Record<string, string | string[] | undefined>;
  /** For `Content-Disposition`, without an extension. */
  name: string;
  /** The caller is gone. */
  signal: AbortSignal;
}

export interface ContentAnswer {
  status: 200 | 206 | 304 | 416;
  headers: Record<string, string>;
  /** Absent where nothing follows the headers. Read it to the end or destroy it. */
  body?: Readable;
}

export function contentHeaders(mime: string, name: string): Record<string, string> {
  return {
    'content-type': mime,
    'content-disposition': `inline; filename="${name}.${extensionOf(mime)}"`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private',
    'accept-ranges': 'bytes',
  };
}

export function headerOf(request: ContentRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
