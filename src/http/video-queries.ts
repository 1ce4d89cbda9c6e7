/** What stands behind the question mark of video routes, checked. */

import { GatewayError } from '../core/errors.ts';
import type { VideoStatus } from '../records/video-task.ts';
import type { TaskQuery } from '../videos/videos.ts';

const PAGE = 20;
const LARGEST_PAGE = 100;
const ORDERS = ['asc', 'desc'] as const;
const STATUSES: readonly VideoStatus[] = ['queued', 'in_progress', 'completed', 'failed', 'cancelled', 'expired'];

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Throws `invalid_request` naming the parameter. */
export function readTaskQuery(query: URLSearchParams): TaskQuery {
  const after = query.get('after') ?? undefined;
  if (after !== undefined && !UUID.test(after)) throw invalid('after', 'must be the id of a task');
  const status = query.get('status') ?? undefined;
  const model = query.get('model') ?? undefined;
  return {
    limit: integer(query, 'limit', { least: 1, most: LARGEST_PAGE, byDefault: PAGE }),
    order: oneOf('order', query.get('order') ?? 'desc', ORDERS),
    ...(after !== undefined && { after }),
    ...(status !== undefined && { status: oneOf('status', status, STATUSES) }),
    ...(model !== undefined && { model }),
  };
}

/** Which video of a task is meant. Throws `unsupported_variant`, for OpenAI's thumbnails and sprite sheets too. */
export function readIndex(query: URLSearchParams): number {
  const variant = query.get('variant') ?? 'video';
  if (variant !== 'video') {
    throw new GatewayError('unsupported_variant', `variant must be video, not ${JSON.stringify(variant)}.`, {
      param: 'variant',
    });
  }
  return integer(query, 'index', { least: 0, most: 999, byDefault: 0 });
}

interface Bounds {
  least: number;
  most: number;
  byDefault: number;
}

function integer(query: URLSearchParams, param: string, { least, most, byDefault }: Bounds): number {
  const text = query.get(param);
  if (text === null) return byDefault;
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
  throw invalid(param, `must be an integer between ${least} and ${most}`);
}

function oneOf<Value extends string>(param: string, text: string, allowed: readonly Value[]): Value {
  const found = allowed.find((value) => value === text);
  if (found !== undefined) return found;
  throw invalid(param, `must be one of ${allowed.join(', ')}`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${message}.`, { param });
}
