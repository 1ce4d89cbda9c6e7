/** Router: finds the operation or catalog query that a method and a path mean, over all protocols. */

import { GatewayError } from '../core/errors.ts';
import { type ClientRoute, type Operation, operationsOf, type Prefixes, type RouteMatch } from '../core/operation.ts';
import type { CatalogQuery, Protocol } from '../core/protocol.ts';

/** What a client calls. */
export type RoutedRequest =
  | { type: 'operation'; protocol: Protocol; operation: Operation; match: RouteMatch }
  | { type: 'catalog'; protocol: Protocol; query: CatalogQuery };

/** Throws `not_found` and `method_not_allowed`. */
export type Router = (method: string, path: string, query: URLSearchParams) => RoutedRequest;

interface Entry {
  route: Pick<ClientRoute<unknown>, 'method' | 'path' | 'templates'>;
  protocol: Protocol;
  match(rest: string[], query: URLSearchParams): RoutedRequest | undefined;
}

/** Of several routes whose path begins a request's, the longest wins. */
export function createRouter(protocols: readonly Protocol[], prefixes: Prefixes): Router {
  const entries = entriesOf(protocols, prefixes);

  function find(entry: Entry, path: string, query: URLSearchParams): RoutedRequest | undefined {
    const rest = restOf(path, entry.route.path);
    return rest && entry.match(rest, query);
  }

  return (method, path, query) => {
    for (const entry of entries) {
      const found = entry.route.method === method ? find(entry, path, query) : undefined;
      if (found) return found;
    }
    const others = entries.filter(({ route }) => route.method !== method);
    const allowed = others.filter((entry) => find(entry, path, new URLSearchParams()));
    if (allowed.length > 0) {
      const allow = [...new Set(allowed.map(({ route }) => route.method))].join(', ');
      throw new GatewayError('method_not_allowed', `${path} takes ${allow}, not ${method}.`, { allow });
    }
    throw nothingAt(method, path);
  };
}

function entriesOf(protocols: readonly Protocol[], prefixes: Prefixes): Entry[] {
  const entries = protocols.flatMap((protocol) => [
    ...operationsOf(protocol).flatMap((operation) =>
      operation.routes(prefixes).map(
        (route): Entry => ({
          route,
          protocol,
          match(rest, query) {
            const match = route.match(rest, query);
            return match && { type: 'operation', protocol, operation, match };
          },
        }),
      ),
    ),
    ...protocol.catalogRoutes(prefixes).map(
      (route): Entry => ({
        route,
        protocol,
        match(rest, search) {
          const query = route.match(rest, search);
          return query && { type: 'catalog', protocol, query };
        },
      }),
    ),
  ]);
  return entries.toSorted((one, other) => other.route.path.length - one.route.path.length);
}

export function nothingAt(method: string, path: string): GatewayError {
  return new GatewayError('not_found', `There is nothing at ${method} ${path}.`);
}

/** The protocol whose error shape suits a path where nothing is: that of the longest common start. */
export function protocolOfPath(path: string, protocols: readonly Protocol[], prefixes: Prefixes): Protocol {
  const [best] = entriesOf(protocols, prefixes).toSorted(
    (one, other) => commonSegments(other.route.path, path) - commonSegments(one.route.path, path),
  );
  return best && commonSegments(best.route.path, path) > 0 ? best.protocol : (protocols[0] as Protocol);
}

function commonSegments(one: string, other: string): number {
  const [left, right] = [one.split('/'), other.split('/')];
  let count = 1;
  while (count < left.length && left[count] === right[count]) count++;
  return count - 1;
}

/** The percent-decoded segments after `start`; undefined when the path is elsewhere or tries to climb. */
function restOf(path: string, start: string): string[] | undefined {
  if (path !== start && !path.startsWith(`${start}/`)) return undefined;
  const segments = path.slice(start.length).split('/').slice(1);
  if (segments.at(-1) === '') segments.pop();
  const decoded: string[] = [];
  for (const segment of segments) {
    const text = decode(segment);
    if (
      text === undefined ||
      text.includes('%') ||
      text.split('/').some((piece) => piece === '..' || piece === '.' || piece === '')
    ) {
      return undefined;
    }
    decoded.push(text);
  }
  return decoded;
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
