/** Stream of a background response, as the client that reads it gets it. */

import type { Readable } from 'node:stream';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { weightOf } from '../../core/json/write-slices.ts';
import { STATE_INCLUDED } from '../../protocols/responses/request-fields.ts';
import type { FoundResponse } from '../../stored-responses/service.ts';
import type { AppOptions } from '../app-options.ts';

export const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' };

/** Weight from which a member is not kept. */
const LARGE_WEIGHT = 16 * 1024;

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
  const begun = withoutLarge(found?.response ?? {});
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

/** The members that need no memory of their own for as long as a stream lasts. */
function withoutLarge(response: Record<string, Json>): Record<string, Json> {
  const isLarge = (value: Json) => weightOf(value, LARGE_WEIGHT) >= LARGE_WEIGHT;
  const empty = (value: Json) => (Array.isArray(value) ? [] : typeof value === 'string' ? null : undefined);
  return Object.fromEntries(
    Object.entries(response).map(([name, value]) => [name, isLarge(value) ? empty(value) : value]),
  );
}

/** Nothing in the place of a response that was deleted. */
function ignoreUnknown(error: unknown): Partial<FoundResponse> {
  if (error instanceof GatewayError && error.code === 'response_not_found') return {};
  throw error;
}
