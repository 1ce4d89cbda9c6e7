/** Route table: every method and path of a server, with required credential, description and handler. */

import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Operation, RouteTemplate } from '../core/operation.ts';
import type { Protocol } from '../core/protocol.ts';
import type { ApiOperation } from './openapi/operation.ts';

export interface Route<Context = never, Match = unknown> {
  /** Name in logs, metrics and traces, e.g. `videos.create`. */
  name: string;
  /** Name of one request, if it depends on the path. */
  nameOf?(match: Match): string;
  /** `GET` includes `HEAD`. */
  method: ApiOperation['method'];
  /** Literal prefix of the path. The route with the longest matching prefix wins. */
  path: string;
  /** Undefined if a path below `path` does not belong to this route. Throws `invalid_request` and `not_found`. */
  match(path: string, query: URLSearchParams): Match | undefined;
  /** Complete paths, with parameter names in braces. */
  templates: readonly RouteTemplate[];
  /** Protocol of the credentials and of error responses. */
  protocol: Protocol;
  /** Operation of an inference route. */
  operation?: Operation;
  /** Surface that the key must be scoped to; absent if every key may call the route. */
  surface?: string;
  access: RouteAccess;
  /** Programs of this machine may call the route without a token if there is no admin token. */
  openLocally?: true;
  /** The request changes state; read-only keys may not call it. */
  changes: boolean;
  /** The response has a secret, which only an admin may see. */
  reveals?: true;
  /** The body is small and of announced length; set on routes without authentication. */
  smallBody?: true;
  /** Requests count against the limits of their key. */
  limited: boolean;
  /** Query parameters that the description does not have are refused; clients of other APIs may send theirs elsewhere. */
  hasOwnQuery?: true;
  /** OpenAPI description of one of the templates. */
  describe(template: RouteTemplate): RouteDescription;
  /** Clients may ask for a WebSocket. */
  upgrades?: true;
  handle(context: Context, match: Match): unknown;
}

/** Credential that a route requires: none, a key, the admin token, or a session. */
export type RouteAccess = ApiOperation['access'];

export type RouteDescription = Omit<ApiOperation, 'method' | 'path' | 'access'>;

export interface FoundRoute<Context> {
  route: Route<Context>;
  match: unknown;
  /** Name for logs, metrics and traces. */
  name: string;
  protocol: Protocol;
}

/** No route matches. The error is `not_found`, `method_not_allowed`, or one of the path or query. */
export interface MissedRoute {
  route?: undefined;
  error: GatewayError;
  /** Protocol of the error response. */
  protocol: Protocol;
}

export interface RouteTable<Context> {
  routes: readonly Route<Context>[];
  /** Finds the route of a request, or the error that refuses it. */
  find(method: string, path: string, query: URLSearchParams): FoundRoute<Context> | MissedRoute;
  /** Protocol whose routes have the longest common prefix with a path; the default one where it is among several. */
  protocolOf(path: string): Protocol;
}

/** `defaultProtocol` is used for paths without a common prefix with any route. */
export function createRouteTable<Context>(
  unsorted: readonly Route<Context>[],
  defaultProtocol: Protocol,
): RouteTable<Context> {
  const routes = unsorted.toSorted((one, other) => other.path.length - one.path.length);
  const routeSegments = routes.map(({ path }) => path.split('/'));
  const routesByPath = Map.groupBy(routes, ({ path }) => path);
  const longestPath = routes[0]?.path.length ?? 0;
  const bases = [...new Set(unsorted.flatMap(({ path }) => basePath(path) ?? []))];
  const baseSegments = new Set([...OTHER_PREFIXES, ...bases.flatMap((base) => base.split('/').slice(1))]);

  function find(method: string, path: string, query: URLSearchParams): FoundRoute<Context> {
    if (hasTooManySegments(path)) throw nothingAt(method, path);
    const wanted = method === 'HEAD' ? 'GET' : method;
    const others: Route<Context>[] = [];
    // Longer parts of the path are that of no route: to look each of them up takes time by the square of a long path.
    const longest = path.length <= longestPath ? path.length : path.lastIndexOf('/', longestPath);
    for (let end = longest; end > 0 && others.length === 0; end = path.lastIndexOf('/', end - 1)) {
      for (const route of routesByPath.get(path.slice(0, end)) ?? NO_ROUTES) {
        const isWanted = route.method === wanted;
        const match = isWanted ? route.match(path, query) : matchQuietly(route, path);
        if (match === undefined) continue;
        if (!isWanted) others.push(route);
        else return { route, match, name: route.nameOf?.(match) ?? route.name, protocol: route.protocol };
      }
    }
    const near = nearby(wanted, path, query);
    if (others.length > 0) throw methodNotAllowed(method, path, others, near);
    throw nothingAt(method, path, near, near === undefined ? replacementOf(wanted, path) : undefined);
  }

  function replacementOf(method: string, path: string): string | undefined {
    const other = REPLACEMENTS.get(path);
    if (other === undefined) return undefined;
    return routes.some((route) => route.method === method && matches(route, other, NO_QUERY)) ? other : undefined;
  }

  /** A path that there is, where the base URL of a client has a prefix or a version too seldom, too often, or that of another API. */
  function nearby(method: string, path: string, query: URLSearchParams): string | undefined {
    const segments = path.split('/');
    const [, first = ''] = segments;
    const known = segments.findIndex((segment, index) => index > 0 && !baseSegments.has(segment));
    const rest = known < 0 ? '' : `/${segments.slice(known).join('/')}`;
    const rank = (candidate: string) => (candidate.endsWith(path) ? 0 : candidate.startsWith(`/${first}/`) ? 1 : 2);
    return bases
      .map((base) => `${base}${rest}`)
      .filter((candidate) => candidate !== path)
      .toSorted((one, other) => rank(one) - rank(other))
      .find((candidate) =>
        routes.some(
          (route) => route.method === method && isBelow(candidate, route.path) && matches(route, candidate, query),
        ),
      );
  }

  function protocolOf(path: string): Protocol {
    let [best, most] = [defaultProtocol, 0];
    const segments = firstSegments(path);
    for (const [index, route] of routes.entries()) {
      const count = commonSegments(routeSegments[index] as string[], segments);
      const isDefault = route.protocol === defaultProtocol;
      if (count > most || (count === most && count > 0 && isDefault)) [best, most] = [route.protocol, count];
    }
    return best;
  }

  return {
    routes,
    find(method, path, query) {
      try {
        return find(method, path, query);
      } catch (error) {
        return { error: toGatewayError(error), protocol: protocolOf(path) };
      }
    },
    protocolOf,
  };
}

const NO_QUERY = new URLSearchParams();
const NO_ROUTES: readonly never[] = [];
/** Segments before the version in base URLs of other gateways and vendors. */
const OTHER_PREFIXES = ['api', 'openai'];
/** Paths of other gateways, and of an older API, with those in whose place they are asked for. */
const REPLACEMENTS: ReadonlyMap<string, string> = new Map([
  ['/health', '/healthz'],
  ['/health/liveliness', '/healthz'],
  ['/health/liveness', '/healthz'],
  ['/health/readiness', '/readyz'],
  ['/livez', '/healthz'],
  ['/docs', '/openapi.json'],
  ['/v1/completions', '/v1/chat/completions'],
]);
/** Of a path; names of models have some, and no path of a route has so many. */
const MAX_SEGMENTS = 64;

function matches<Context>(route: Route<Context>, path: string, query: URLSearchParams): boolean {
  return matchQuietly(route, path, query) !== undefined;
}

/** Match of a path with a route that was not asked for; undefined if the route throws. */
function matchQuietly<Context>(route: Route<Context>, path: string, query = NO_QUERY): unknown {
  try {
    return route.match(path, query);
  } catch {
    return undefined;
  }
}

/** The path of a route up to its version, as base URLs have it. */
function basePath(path: string): string | undefined {
  const segments = path.split('/');
  const version = segments.findIndex((segment) => /^v\d/.test(segment));
  return version < 0 ? undefined : segments.slice(0, version + 1).join('/');
}

/** Error `not_found`; `near` names a similar route for the message, and `replacement` one of another name. */
export function nothingAt(method: string, path: string, near?: string, replacement?: string): GatewayError {
  const hint = replacement === undefined ? hintOf(near) : ` Use ${replacement}.`;
  return new GatewayError('not_found', `There is nothing at ${method} ${path}.${hint}`);
}

function hintOf(near: string | undefined): string {
  return near === undefined ? '' : ` There is ${near}: check the base URL.`;
}

/** Matcher of a path without parameters. */
export function matchExactly(template: string): (path: string) => Record<string, never> | undefined {
  return (path) => (path === template ? {} : undefined);
}

/** Matcher of a template whose parameters are one segment each. Returns them percent-decoded. */
export function matchTemplate(template: string): (path: string) => Record<string, string> | undefined {
  const parts = template.split('/');
  return (path) => {
    const segments = path.split('/');
    if (segments.length !== parts.length) return undefined;
    const values: Record<string, string> = {};
    for (const [index, part] of parts.entries()) {
      const text = decode(segments[index] ?? '');
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      if (!text || (name === undefined && text !== part)) {
        if (part !== '' || text !== '') return undefined;
      } else if (name !== undefined) values[name] = text;
    }
    return values;
  };
}

/** Part of a template before its first parameter. */
export function literalStart(template: string): string {
  const end = template.indexOf('/{');
  return end < 0 ? template : template.slice(0, end);
}

/** Percent-decoded segments of a path after `start`; undefined for another path, and for one with `.` or `..` segments. */
export function segmentsBelow(path: string, start: string): string[] | undefined {
  if (!isBelow(path, start)) return undefined;
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

function isBelow(path: string, start: string): boolean {
  return path.startsWith(start) && (path.length === start.length || path[start.length] === '/');
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function methodNotAllowed(
  method: string,
  path: string,
  routes: readonly { method: string }[],
  near: string | undefined,
): GatewayError {
  const methods = routes.flatMap((route) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
  const allow = [...new Set(methods)].join(', ');
  return new GatewayError('method_not_allowed', `${path} takes ${allow}, not ${method}.${hintOf(near)}`, { allow });
}

function hasTooManySegments(path: string): boolean {
  let count = 1;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) if (++count > MAX_SEGMENTS) return true;
  return false;
}

/** Segments of a path, the empty one before its slash included: all of them, or more than there may be. */
function firstSegments(path: string): string[] {
  return path.split('/', MAX_SEGMENTS + 1);
}

function commonSegments(one: readonly string[], other: readonly string[]): number {
  let count = 1;
  while (count < one.length && one[count] === other[count]) count++;
  return count - 1;
}
