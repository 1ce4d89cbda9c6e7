/** Query parameters of the routes of stored responses. */

import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { flag, whole } from './admin/query.ts';

/** Query parameters that are passed on to the provider that keeps a response. */
const PASSED = [
  'include',
  'include[]',
  'stream',
  'starting_after',
  'include_obfuscation',
  'limit',
  'order',
  'after',
  'before',
];
const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;

/** The query for the provider; empty or with its question mark. */
export function passedQuery(query: URLSearchParams): string {
  const passed = [...query].filter(([name]) => PASSED.includes(name));
  return passed.length === 0 ? '' : `?${new URLSearchParams(passed)}`;
}

export interface RetrievalQuery {
  include: string[];
  stream: boolean;
  startingAfter: number | undefined;
}

/** Throws `invalid_request` with the parameter. */
export function readRetrieval(query: URLSearchParams): RetrievalQuery {
  return {
    include: readInclude(query),
    stream: flag(query, 'stream'),
    startingAfter: whole(query, 'starting_after', { least: 0, most: Number.MAX_SAFE_INTEGER, byDefault: undefined }),
  };
}

/** Values of `include`, which some clients write `include[]`. */
export function readInclude(query: URLSearchParams): string[] {
  return [...query.getAll('include'), ...query.getAll('include[]')];
}

/** A page of a list that is read forward. */
export interface ForwardPage {
  limit: number;
  order: 'asc' | 'desc';
  after: string | undefined;
}

export interface ItemPage extends ForwardPage {
  before: string | undefined;
}

/** Throws `invalid_request` with the parameter. */
export function readForwardPage(query: URLSearchParams): ForwardPage {
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw invalid('order', 'must be asc or desc');
  return {
    limit: whole(query, 'limit', { least: 1, most: MAX_PAGE_SIZE, byDefault: DEFAULT_PAGE_SIZE }),
    order,
    after: query.get('after') || undefined,
  };
}

/** Throws `invalid_request` with the parameter. */
export function readItemPage(query: URLSearchParams): ItemPage {
  return { ...readForwardPage(query), before: query.get('before') || undefined };
}

/** A page of items that are listed oldest first. Throws `invalid_request` for a cursor that is none of them. */
export function pageOf(items: readonly Json[], { limit, order, after, before }: ItemPage): Json {
  const ordered = order === 'asc' ? items : items.toReversed();
  const indexOf = (param: string, id: string): number => {
    const index = ordered.findIndex((item) => item.id === id);
    if (index < 0) throw invalid(param, 'must be the id of an item of this list');
    return index;
  };
  const start = after === undefined ? 0 : indexOf('after', after) + 1;
  const end = before === undefined ? ordered.length : indexOf('before', before);
  const rest = ordered.slice(start, Math.max(start, end));
  // The page before an item is the one that ends there.
  const isBackward = before !== undefined && after === undefined;
  const data = isBackward ? rest.slice(-limit) : rest.slice(0, limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: rest.length > data.length,
  };
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${message}.`, { param });
}
