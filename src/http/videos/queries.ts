/** Query parameters of the video routes. */

import { GatewayError } from '../../core/errors.ts';
import { VIDEO_STATUSES } from '../../records/video-task.ts';
import type { TaskQuery } from '../../videos/videos.ts';
import { searchText } from '../admin/query.ts';
import { readCreatedSpan } from '../created-span.ts';

const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;
const ORDERS = ['asc', 'desc'] as const;

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Throws `invalid_request` with the parameter. */
export function readTaskQuery(query: URLSearchParams): TaskQuery {
  const after = query.get('after') ?? undefined;
  if (after !== undefined && !UUID.test(after)) throw invalid('after', 'must be the id of a task');
  const status = query.get('status') ?? undefined;
  const model = query.get('model') ?? undefined;
  const search = searchText(query, 'search');
  return {
    limit: readInteger(query, 'limit', { min: 1, max: MAX_PAGE_SIZE, defaultValue: DEFAULT_PAGE_SIZE }),
    order: readOption('order', query.get('order') ?? 'desc', ORDERS),
    ...(after !== undefined && { after }),
    ...(status !== undefined && { status: readOption('status', status, VIDEO_STATUSES) }),
    ...(model !== undefined && { model }),
    ...(search !== undefined && { search }),
    ...readCreatedSpan(query),
  };
}

/** Index of a video of the task. Throws `unsupported_variant`, e.g. for OpenAI's thumbnails and sprite sheets. */
export function readIndex(query: URLSearchParams): number {
  const variant = query.get('variant') ?? 'video';
  if (variant !== 'video') {
    throw new GatewayError('unsupported_variant', `variant must be video, not ${JSON.stringify(variant)}.`, {
      param: 'variant',
    });
  }
  return readInteger(query, 'index', { min: 0, max: 999, defaultValue: 0 });
}

interface IntegerBounds {
  min: number;
  max: number;
  defaultValue: number;
}

function readInteger(query: URLSearchParams, param: string, { min, max, defaultValue }: IntegerBounds): number {
  const text = query.get(param);
  if (text === null) return defaultValue;
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= min && value <= max) return value;
  throw invalid(param, `must be an integer between ${min} and ${max}`);
}

function readOption<Value extends string>(param: string, text: string, allowed: readonly Value[]): Value {
  const found = allowed.find((value) => value === text);
  if (found !== undefined) return found;
  throw invalid(param, `must be one of ${allowed.join(', ')}`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${message}.`, { param });
}
