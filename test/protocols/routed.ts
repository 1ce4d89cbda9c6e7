/** The meaning of a request line in one protocol, as the router finds it. */

import { GatewayError } from '../../src/core/errors.ts';
import type { RouteMatch } from '../../src/core/operation.ts';
import type { CatalogQuery, Protocol } from '../../src/core/protocol.ts';
import { createRouter } from '../../src/http/paths.ts';

const PREFIXES = { messages: 'anthropic', generate: 'gemini' };

/** The operation with what the path says of it, or the catalog query; undefined where nothing is. */
export function routed(
  protocol: Protocol,
  method: string,
  path: string,
): ({ type: string } & RouteMatch) | CatalogQuery | undefined {
  const url = new URL(path, 'http://localhost');
  try {
    const found = createRouter([protocol], PREFIXES)(method, url.pathname, url.searchParams);
    return found.type === 'catalog' ? found.query : { type: found.operation.name, ...found.match };
  } catch (error) {
    if (error instanceof GatewayError && ['not_found', 'method_not_allowed'].includes(error.code)) return undefined;
    throw error;
  }
}
