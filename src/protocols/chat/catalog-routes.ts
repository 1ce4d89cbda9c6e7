/** Model list of chat completions: its routes and paging. */

import * as Type from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import type { ClientRoute } from '../../core/operation.ts';
import type { CatalogQuery, PageParameter, PageQuery } from '../../core/protocol.ts';

const MAX_PAGE = 1000;
const MAX_OFFSET = 1_000_000;

const LIST = '/v1/models';
const ONE = '/v1/model';
/** Value of the parameter `view`. */
const NAMES = 'names';

export const pageParameters: readonly PageParameter[] = [
  {
    name: 'limit',
    schema: Type.Integer({ minimum: 1, maximum: MAX_PAGE }),
    description: 'Models on a page; all if absent.',
  },
  { name: 'after', schema: Type.String(), description: 'Id of the last model of the page before.' },
  { name: 'offset', schema: Type.Integer({ minimum: 0, maximum: MAX_OFFSET }), description: 'Models to leave out.' },
  {
    name: 'view',
    schema: Type.Unsafe<string>({ type: 'string', enum: [NAMES] }),
    description: 'names for the id and the name of each model alone.',
  },
];

export const catalogRoutes: ClientRoute<CatalogQuery>[] = [
  {
    method: 'GET',
    path: LIST,
    match: matchList,
    templates: ['', '/count', '/{provider}', '/{provider}/{model}'].map((rest) => ({ path: LIST + rest })),
  },
  {
    method: 'GET',
    path: ONE,
    match: (rest) => (rest.length > 1 ? { type: 'get-model', id: rest.join('/'), enveloped: true } : undefined),
    templates: [{ path: `${ONE}/{provider}/{model}` }],
  },
];

/** A model id may hold any number of slashes, raw or percent-encoded; one segment alone is a provider. */
function matchList(rest: string[], query: URLSearchParams): CatalogQuery | undefined {
  const segments = rest.length === 0 ? [] : rest.join('/').split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..' || segment.includes('%'))) {
    return undefined;
  }
  if (segments.length === 1 && segments[0] === 'count') return { type: 'count-models' };
  if (segments.length > 1) return { type: 'get-model', id: segments.join('/') };
  // With its version Codex asks for a list of its own, at the same path.
  if (segments.length === 0 && query.has('client_version')) return undefined;
  return {
    type: 'list-models',
    provider: segments[0],
    page: pageOf(query),
    ...(isOfNames(query) && { namesOnly: true }),
  };
}

function isOfNames(query: URLSearchParams): boolean {
  const view = query.get('view') ?? undefined;
  if (view === undefined || view === NAMES) return view === NAMES;
  throw new GatewayError('invalid_request', `view must be ${NAMES}.`, { param: 'view' });
}

function pageOf(query: URLSearchParams): PageQuery {
  const after = query.get('after') ?? undefined;
  const limit = numberIn(query, 'limit', { least: 1, most: MAX_PAGE });
  const offset = numberIn(query, 'offset', { least: 0, most: MAX_OFFSET });
  return { after, ...(limit !== undefined && { limit }), ...(offset !== undefined && { offset }) };
}

function numberIn(
  query: URLSearchParams,
  param: string,
  { least, most }: { least: number; most: number },
): number | undefined {
  const text = query.get(param);
  if (text === null) return undefined;
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
  throw new GatewayError('invalid_request', `${param} must be an integer between ${least} and ${most}.`, { param });
}
