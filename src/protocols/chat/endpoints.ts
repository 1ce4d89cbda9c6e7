/** Where clients of chat completions knock, and with which key. */

import { GatewayError } from '../../core/errors.ts';
import type { Action, ClientRoute, Headers, PageQuery } from '../../core/protocol.ts';

const LARGEST_PAGE = 1000;
const LARGEST_OFFSET = 1_000_000;

export const endpoints: ClientRoute[] = [
  {
    method: 'POST',
    path: '/v1/chat/completions',
    action: (rest) => (rest.length === 0 ? { type: 'generate' } : undefined),
    operations: [{ path: '/v1/chat/completions', action: 'generate' }],
  },
  {
    method: 'GET',
    path: '/v1/models',
    action: catalogAction,
    operations: [
      { path: '/v1/models', action: 'list-models' },
      { path: '/v1/models/count', action: 'count-models' },
      { path: '/v1/models/{provider}', action: 'list-models' },
      { path: '/v1/models/{provider}/{model}', action: 'get-model' },
    ],
  },
  {
    method: 'GET',
    path: '/v1/model',
    action: (rest) => (rest.length > 1 ? { type: 'get-model', id: rest.join('/'), enveloped: true } : undefined),
    operations: [{ path: '/v1/model/{provider}/{model}', action: 'get-model' }],
  },
];

/** `Authorization: Bearer`, or the `api-key` of clients made for Azure. */
export function credentials(headers: Headers): string[] {
  const bearer = /^bearer\s+(\S+)\s*$/i.exec(single(headers.authorization) ?? '')?.[1];
  return [bearer, single(headers['api-key'])].filter((key) => key !== undefined);
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** A model id may hold any number of slashes, raw or percent-encoded; one segment alone is a provider. */
function catalogAction(rest: string[], query: URLSearchParams): Action | undefined {
  const segments = rest.length === 0 ? [] : rest.join('/').split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..' || segment.includes('%'))) {
    return undefined;
  }
  if (segments.length === 1 && segments[0] === 'count') return { type: 'count-models' };
  if (segments.length > 1) return { type: 'get-model', id: segments.join('/') };
  return { type: 'list-models', provider: segments[0], page: pageOf(query) };
}

function pageOf(query: URLSearchParams): PageQuery {
  const after = query.get('after') ?? undefined;
  const limit = numberIn(query, 'limit', { least: 1, most: LARGEST_PAGE });
  const offset = numberIn(query, 'offset', { least: 0, most: LARGEST_OFFSET });
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
