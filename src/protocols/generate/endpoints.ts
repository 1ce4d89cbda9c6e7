/** Paths: what clients of every version and flavour call, and what upstreams are called with. */

import { GatewayError } from '../../core/errors.ts';
import type { Action, ClientRoute, Headers, PageQuery, Prefixes, RouteDescription } from '../../core/protocol.ts';

const VERSIONS = ['v1beta', 'v1', 'v1beta1'];

const MAX_PAGE = 1000;

export function endpoints(prefixes: Prefixes): ClientRoute[] {
  return VERSIONS.flatMap((version): ClientRoute[] => {
    const path = `/${prefixes.generate}/${version}`;
    return [
      { method: 'POST', path, action: postAction, operations: postOperations(path) },
      { method: 'GET', path, action: getAction, operations: getOperations(path) },
    ];
  });
}

function postOperations(path: string): RouteDescription[] {
  const model = `${path}/models/{provider}/{model}`;
  return [
    { path: `${model}:generateContent`, action: 'generate' },
    { path: `${model}:streamGenerateContent`, action: 'generate', streams: true },
    { path: `${model}:countTokens`, action: 'count' },
  ];
}

function getOperations(path: string): RouteDescription[] {
  return [
    { path: `${path}/models`, action: 'list-models' },
    { path: `${path}/models/{provider}`, action: 'list-models' },
    { path: `${path}/models/{provider}/{model}`, action: 'get-model' },
  ];
}

function postAction(rest: string[], query: URLSearchParams): Action | undefined {
  const name = resource(rest);
  if (name === undefined) return undefined;
  const colon = name.lastIndexOf(':');
  const model = name.slice(0, colon).replace(/^models\//, '');
  if (colon < 0 || model === '' || model.endsWith('/')) return undefined;
  switch (name.slice(colon + 1)) {
    case 'generateContent':
      return { type: 'generate', model, stream: false };
    case 'streamGenerateContent': {
      const sse = (query.get('alt') ?? query.get('$alt')) === 'sse';
      return { type: 'generate', model, stream: true, array: !sse };
    }
    case 'countTokens':
      return { type: 'count', model };
    default:
      throw new GatewayError('not_found', `There is no method "${name.slice(colon + 1)}"; there are ${KNOWN_METHODS}.`);
  }
}

const KNOWN_METHODS = 'generateContent, streamGenerateContent and countTokens';

function getAction(rest: string[], query: URLSearchParams): Action | undefined {
  const name = resource(rest);
  if (name === 'models') return { type: 'list-models', page: pageOf(query) };
  if (!name?.startsWith('models/')) return undefined;
  const id = name.slice('models/'.length).replace(/^models\//, '');
  return id.includes('/') ? { type: 'get-model', id } : { type: 'list-models', provider: id, page: pageOf(query) };
}

/**
 * The path as one name, `models/<provider>/<model>` for the spelling with publishers too. Undefined for a path that
 * names nothing: empty or dot segments, and slashes that were encoded twice.
 */
function resource(rest: string[]): string | undefined {
  const segments = rest.flatMap((segment) => segment.split('/'));
  if (segments.length === 0) return undefined;
  if (segments.some((segment) => segment === '' || /^\.\.?(:|$)/.test(segment) || /%(2f|2e|25)/i.test(segment))) {
    return undefined;
  }
  if (segments[0] === 'projects' && segments[2] === 'locations') segments.splice(0, 4);
  if (segments[0] === 'publishers' && segments[2] === 'models') {
    return ['models', segments[1], ...segments.slice(3)].join('/');
  }
  return segments.join('/');
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

export function credentials(headers: Headers, query: URLSearchParams): string[] {
  const bearer = /^bearer\s+(\S+)$/i.exec(text(headers.authorization) ?? '')?.[1];
  const keys = [headers['x-goog-api-key'], headers['x-gen-api-key'], ...query.getAll('key')].map(text);
  return [...keys, bearer].filter((key) => key !== undefined);
}

function text(value: string | string[] | undefined): string | undefined {
  const first = Array.isArray(value) ? value[0] : value;
  return first?.trim() || undefined;
}

const METHODS = { generate: 'generateContent', count: 'countTokens' };

export function upstreamPath(model: string, action: 'generate' | 'count', stream: boolean): string {
  const path = `/v1beta/models/${model.split('/').map(encodeURIComponent).join('/')}`;
  if (action === 'generate' && stream) return `${path}:streamGenerateContent?alt=sse`;
  return `${path}:${METHODS[action]}`;
}
