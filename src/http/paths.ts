/** Finds the endpoint that a URL means, over all protocols. */

import { GatewayError } from '../core/errors.ts';
import type { Action, ClientRoute, Prefixes, Protocol } from '../core/protocol.ts';

export interface MatchedRoute {
  protocol: Protocol;
  action: Action;
}

export type Router = (method: string, path: string, query: URLSearchParams) => MatchedRoute;

interface Entry {
  protocol: Protocol;
  endpoint: ClientRoute;
}

export function createRouter(protocols: readonly Protocol[], prefixes: Prefixes): Router {
  const entries: Entry[] = protocols.flatMap((protocol) =>
    protocol.endpoints(prefixes).map((endpoint) => ({ protocol, endpoint })),
  );

  function actionOf({ endpoint }: Entry, path: string, query: URLSearchParams): Action | undefined {
    const rest = restOf(path, endpoint.path);
    return rest && endpoint.action(rest, query);
  }

  return (method, path, query) => {
    const [fitting, others] = partition(entries, ({ endpoint }) => endpoint.method === method);
    for (const entry of fitting) {
      const action = actionOf(entry, path, query);
      if (action) return { protocol: entry.protocol, action };
    }
    const allowed = others.filter((entry) => actionOf(entry, path, new URLSearchParams()));
    if (allowed.length > 0) {
      const allow = [...new Set(allowed.map(({ endpoint }) => endpoint.method))].join(', ');
      throw new GatewayError('method_not_allowed', `${path} takes ${allow}, not ${method}.`, { allow });
    }
    throw nothingAt(method, path);
  };
}

function partition<Item>(items: Item[], fits: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(fits), items.filter((item) => !fits(item))];
}

export function nothingAt(method: string, path: string): GatewayError {
  return new GatewayError('not_found', `There is nothing at ${method} ${path}.`);
}

/** The protocol whose error shape suits a path, whether or not anything is there. */
export function protocolOfPath(path: string, protocols: readonly Protocol[], prefixes: Prefixes): Protocol {
  const owner = protocols.find((protocol) =>
    protocol.endpoints(prefixes).some(({ path: start }) => firstSegment(start) === firstSegment(path)),
  );
  return owner ?? (protocols[0] as Protocol);
}

function firstSegment(path: string): string {
  return path.split('/')[1] ?? '';
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
