/** Route of the admin API, as its tables describe it. */

import type { TSchema } from 'typebox';
import type { ApiOperation } from '../openapi/operation.ts';

export interface AdminRoute extends Pick<ApiOperation, 'method' | 'path' | 'summary' | 'query'> {
  /** The response has a secret. */
  reveals?: true;
  /** A POST that changes nothing. */
  readsOnly?: true;
  body?: TSchema;
  /** The body is optional. */
  optional?: true;
  /** 200 if absent. */
  status?: number;
  /** Schema of the response, or the bytes of a video. */
  response: TSchema | 'video';
}
