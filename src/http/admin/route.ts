/** Route of the admin API, as its tables describe it. */

import type { TSchema } from 'typebox';
import type { ApiOperation } from '../openapi/operation.ts';

export interface AdminRoute extends Pick<ApiOperation, 'method' | 'path' | 'summary' | 'query'> {
  /** The response has a secret. */
  reveals?: true;
  /**
   * The response may be compressed: clients write none of it, so that its length tells them nothing about the rest. Lists of
   * requests, tasks, webhooks, sessions and changes have names and texts of clients.
   */
  compresses?: true;
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
