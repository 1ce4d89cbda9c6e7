/** Model list of generateContent: its routes and paging. */

import * as Type from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import type { ClientRoute, Prefixes } from '../../core/operation.ts';
import type { CatalogQuery, PageParameter, PageQuery } from '../../core/protocol.ts';
import { resourceOf, versionPaths } from './routes.ts';

const MAX_PAGE = 1000;

export const pageParameters: readonly PageParameter[] = [
  {
    name: 'pageSize',
    schema: Type.Integer({ minimum: 0 }),
    description: `Models on a page, ${MAX_PAGE} at most; all if absent or 0.`,
  },
  { name: 'pageToken', schema: Type.String(), description: 'The `nextPageToken` of the page before.' },
];

export function catalogRoutes(prefixes: Prefixes): ClientRoute<CatalogQuery>[] {
  return versionPaths(prefixes).map((path) => ({
    method: 'GET',
    path,
    match,
    templates: ['', '/{provider}', '/{provider}/{model}'].map((rest) => ({ path: `${path}/models${rest}` })),
  }));
}

function match(rest: string[], query: URLSearchParams): CatalogQuery | undefined {
  const name = resourceOf(rest);
  if (name === 'models') return { type: 'list-models', page: pageOf(query) };
  if (!name?.startsWith('models/')) return undefined;
  const id = name.slice('models/'.length).replace(/^models\//, '');
  return id.includes('/') ? { type: 'get-model', id } : { type: 'list-models', provider: id, page: pageOf(query) };
}

function pageOf(query: URLSearchParams): PageQuery {
  const page: PageQuery = {};
  const size = query.get('pageSize') ?? query.get('page_size');
  if (size) {
    const limit = Number(size);
    if (!Number.isInteger(limit) || limit < 0) {
      throw new GatewayError('invalid_request', `pageSize must be an integer from 1 to ${MAX_PAGE}.`, {
        param: 'pageSize',
      });
    }
    if (limit > 0) page.limit = Math.min(limit, MAX_PAGE);
  }
  const token = query.get('pageToken') ?? query.get('page_token');
  if (token) page.after = token;
  return page;
}
