/** Stream of a background response, as the client that reads it gets it. */

import type { Readable } from 'node:stream';
import { GatewayError } from '../../core/errors.ts';
import { STATE_INCLUDED } from '../../protocols/responses/request-fields.ts';
import type { FoundResponse } from '../../stored-responses/service.ts';
import type { AppOptions } from '../app-options.ts';

export const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' };

export type StreamOptions = Pick<AppOptions, 'stored' | 'streams' | 'bodyBudget'>;

/**
 * The events from a number on. The last one has the state of reasoning that its request includes, as those before it have. Undefined
 * if no events are kept and the response has ended. Throws `invalid_request` and `rate_limit_exceeded`.
 */
export function openBackgroundStream(
  { stored: { owner, id }, stored: row, content: found }: FoundResponse,
  from: number,
  { stored, streams, bodyBudget }: StreamOptions,
): Promise<Readable | undefined> {
  const begun = found?.response ?? {};
  return streams.open({
    stored: row,
    from,
    hold: (bytes) => bodyBudget.open(owner, bytes)?.release,
    async response(reserve) {
      const { content } = await stored.find({ owner, reserve }, id).catch(ignoreUnknown);
      return content && stored.encode(content, [STATE_INCLUDED]);
    },
    cancelled: () => ({ ...begun, status: 'cancelled', output: [] }),
  });
}

/** Nothing in the place of a response that was deleted. */
function ignoreUnknown(error: unknown): Partial<FoundResponse> {
  if (error instanceof GatewayError && error.code === 'response_not_found') return {};
  throw error;
}
