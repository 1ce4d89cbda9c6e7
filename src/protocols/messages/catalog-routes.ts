/** Model list of the messages protocol: its routes and paging. */

import * as Type from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import type { ClientRoute, Prefixes } from '../../core/operation.ts';
import type { CatalogQuery, PageParameter, PageQuery } from '../../core/protocol.ts';

const MAX_PAGE = 1000;

export const pageParameters: readonly PageParameter[] = [
  {
    name: 'limit',
    schema: Type.Integer({ minimum: 1, maximum: MAX_PAGE }),
    description: 'Models on a page; all if absent.',
  },
  { name: 'after_id', schema: Type.String(), description: 'The `last_id` of the page before.' },
  { name: 'before_id', schema: Type.String(), description: 'The `first_id` of the page after.' },
];

export function catalogRoutes({ messages: prefix }: Prefixes): ClientRoute<CatalogQuery>[] {
  const path = `/${prefix}/v1/models`;
  const templates = [path, `${path}/{provider}`, `${path}/{provider}/{model}`].map((path) => ({ path }));
  return [{ method: 'GET', path, match, templates }];
}

function match(rest: string[], query: URLSearchParams): CatalogQuery | undefined {
  if (rest.length === 0) return { type: 'list-models', page: pageOf(query) };
  const id = rest.join('/');
  const segments = id.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) return undefined;
  if (segments.length === 1) return { type: 'list-models', provider: id, page: pageOf(query) };
  return { type: 'get-model', id };
}

function pageOf(query: URLSearchParams): PageQuery {
  const page: PageQuery = {};
  const limit = query.get('limit');
  if (limit !== null) page.limit = limitOf(limit);
  const after = query.get('after_id');
  if (after) page.after = after;
  const before = query.get('before_id');
  if (before) page.before = before;
  return page;
}

function limitOf(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_PAGE) return limit;
  throw new GatewayError('invalid_request', `limit must be an integer between 1 and ${MAX_PAGE}.`, { param: 'limit' });
}
