/** Paths, credentials and version headers of the messages protocol. */

import { GatewayError } from '../../core/errors.ts';
import type { Action, ClientRoute, Headers, PageQuery, Prefixes, RouteDescription } from '../../core/protocol.ts';

const VERSIONS = ['2023-06-01', '2026-10-21'];
const VERSION_HEADERS = ['anthropic-version', 'msg-protocol-version'];
const MAX_PAGE = 1000;

/** Some clients take `v1` as part of their base address and some leave it out. */
export function endpoints({ messages: prefix }: Prefixes): ClientRoute[] {
  return [
    messagesEndpoint(`/${prefix}/v1/messages`),
    messagesEndpoint(`/${prefix}/messages`),
    modelsEndpoint(`/${prefix}/v1/models`),
  ];
}

function messagesEndpoint(path: string): ClientRoute {
  const operations: RouteDescription[] = [
    { path, action: 'generate' },
    { path: `${path}/count_tokens`, action: 'count' },
  ];
  return { method: 'POST', path, action: messagesAction, operations };
}

function modelsEndpoint(path: string): ClientRoute {
  const operations: RouteDescription[] = [
    { path, action: 'list-models' },
    { path: `${path}/{provider}`, action: 'list-models' },
    { path: `${path}/{provider}/{model}`, action: 'get-model' },
  ];
  return { method: 'GET', path, action: modelsAction, operations };
}

function messagesAction(rest: string[]): Action | undefined {
  if (rest.length === 0) return { type: 'generate' };
  return rest.length === 1 && rest[0] === 'count_tokens' ? { type: 'count' } : undefined;
}

function modelsAction(rest: string[], query: URLSearchParams): Action | undefined {
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

/** `x-api-key` and `Authorization: Bearer`. */
export function credentials(headers: Headers): string[] {
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(single(headers.authorization) ?? '')?.[1];
  return [single(headers['x-api-key'])?.trim() || undefined, bearer].filter((key) => key !== undefined);
}

/** Throws `invalid_request` unless a version header names a known version. */
export function checkHeaders(headers: Headers): void {
  const name = VERSION_HEADERS.find((header) => headers[header] !== undefined);
  const version = name && single(headers[name])?.trim();
  if (version && VERSIONS.includes(version)) return;
  const problem = version ? `"${version}" is not a known version` : 'a version header is required';
  const allowed = `send anthropic-version (or msg-protocol-version) with ${VERSIONS.join(' or ')}`;
  throw new GatewayError('invalid_request', `${name ?? 'anthropic-version'}: ${problem}; ${allowed}.`, {
    param: name ?? 'anthropic-version',
  });
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
