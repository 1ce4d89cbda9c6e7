/** Where clients of chat completions knock, and with which key. */

import { GatewayError } from '../../core/errors.ts';
import type { Action, Endpoint, Headers, Page } from '../../core/protocol.ts';

const LARGEST_PAGE = 1000;

export const endpoints: Endpoint[] = [
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
      { path: '/v1/models/{provider}', action: 'list-models' },
      { path: '/v1/models/{provider}/{model}', action: 'get-model' },
    ],
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
  if (segments.length > 1) return { type: 'get-model', id: segments.join('/') };
  return { type: 'list-models', provider: segments[0], page: pageOf(query) };
}

function pageOf(query: URLSearchParams): Page {
  const text = query.get('limit');
  const after = query.get('after') ?? undefined;
  if (text === null) return { after };
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > LARGEST_PAGE) {
    throw new GatewayError('invalid_request', `limit must be an integer between 1 and ${LARGEST_PAGE}.`, {
      param: 'limit',
    });
  }
  return { limit, after };
}
