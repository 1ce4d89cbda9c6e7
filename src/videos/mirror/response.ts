/** Content requests and responses: the bytes of a video over HTTP, independent of the server framework. */

import type { Readable } from 'node:stream';
import { extensionOf } from './media-type.ts';

export interface ContentRequest {
  method: 'GET' | 'HEAD';
  headers: Record<string, string | string[] | undefined>;
  /** File name for `Content-Disposition`, without an extension. */
  name: string;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
}

export interface ContentResponse {
  status: 200 | 206 | 304 | 416;
  headers: Record<string, string>;
  /** Absent for a response without a body. Must be read to the end or destroyed. */
  body?: Readable;
}

/** Headers of a media response; `name` is the file name without its extension. */
export function contentHeaders(mime: string, name: string): Record<string, string> {
  return {
    'content-type': mime,
    'content-disposition': `inline; filename="${name}.${extensionOf(mime)}"`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private',
    'accept-ranges': 'bytes',
  };
}

/** First value of a header; `name` in lower case. */
export function headerOf(request: ContentRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
