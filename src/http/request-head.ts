/** Request head checks: headers first, and once the route is known, names of query parameters. */

import { GatewayError } from '../core/errors.ts';
import type { ServerRequest } from '../http1/server-request.ts';
import type { Route } from './route-table.ts';

/** Headers that may have only one value in a request; the parser keeps the first of several, or joins them. */
const CREDENTIALS = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-gen-api-key',
  'x-litellm-api-key',
  'x-portkey-api-key',
];
const OTHERS = [
  'anthropic-version',
  'msg-protocol-version',
  'content-type',
  'content-encoding',
  'content-length',
  'idempotency-key',
  'x-polygate-provider',
  'x-portkey-provider',
];
const SINGLE = new Set([...CREDENTIALS, ...OTHERS]);
/** Characters of a host with its port (RFC 3986, section 3.2), which may be empty. */
const HOST = /^[\w.~%!$&'()*+,;=:[\]-]*$/;

/**
 * Throws `invalid_api_key` or `invalid_request` if such a header has two different values; equal values become one. Throws
 * `invalid_request` for a request without `Host`, with several, or with an invalid one (RFC 9112, section 3.2).
 */
export function checkHead({
  headers,
  repeated,
  isCurrent,
}: Pick<ServerRequest, 'headers' | 'repeated' | 'isCurrent'>): void {
  const { host } = headers;
  if (host === undefined ? isCurrent : !HOST.test(host)) {
    const problem = host === undefined ? 'is required' : 'is no host with an optional port';
    throw new GatewayError('invalid_request', `The header host ${problem}.`, { param: 'host' });
  }
  if (!repeated) return;
  if (repeated.has('host')) {
    throw new GatewayError('invalid_request', 'The header host comes several times; send it once.', { param: 'host' });
  }
  for (const [name, values] of repeated) {
    if (!SINGLE.has(name)) continue;
    const [first] = values;
    if (values.some((value) => value !== first)) throw severalValues(name);
    headers[name] = first;
  }
}

function severalValues(name: string): GatewayError {
  if (!CREDENTIALS.includes(name)) {
    return new GatewayError('invalid_request', `The header ${name} comes with different values; send one.`, {
      param: name,
    });
  }
  return new GatewayError('invalid_api_key', `Several ${name} headers that differ are presented; send one.`);
}

/** Names by route; the routes are there as long as the process. */
const namesByRoute = new WeakMap<object, ReadonlySet<string>>();

/**
 * For routes of the gateway's own API. Throws `invalid_request` that names an unknown parameter and those that the route has, or
 * one that comes again, of which only the first would count.
 */
export function checkQueryNames(
  route: Pick<Route, 'templates' | 'describe' | 'hasOwnQuery'>,
  query: URLSearchParams,
): void {
  if (!route.hasOwnQuery || query.size === 0) return;
  const known = namesOf(route);
  const seen = new Set<string>();
  for (const name of query.keys()) {
    if (seen.has(name)) {
      throw new GatewayError('invalid_request', `The query parameter ${name} comes twice; send it once.`, {
        param: name,
      });
    }
    seen.add(name);
    if (known.has(name)) continue;
    const allowed = known.size === 0 ? 'it takes none' : `it takes ${[...known].join(', ')}`;
    const shown = JSON.stringify(name.slice(0, 100));
    throw new GatewayError('invalid_request', `Unknown query parameter ${shown}; ${allowed}.`, { param: name });
  }
}

function namesOf(route: Pick<Route, 'templates' | 'describe'>): ReadonlySet<string> {
  const known = namesByRoute.get(route);
  if (known) return known;
  const described = route.templates.flatMap((template) => route.describe(template).query ?? []);
  const names = new Set(described.map(({ name }) => name));
  namesByRoute.set(route, names);
  return names;
}
