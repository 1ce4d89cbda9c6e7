/** Web search of a request at a model that may not have one. */

import type { ChatRequest } from './chat.ts';
import { GatewayError } from './errors.ts';

/** Makes a search that is offered beside other tools one that the request needs. */
export function requireWebSearch({ webSearch }: ChatRequest): void {
  if (webSearch) delete webSearch.optional;
}

/**
 * The search to request; undefined if there is none, or no tool may be used. Throws `unsupported_tool` if the model has none
 * and the request needs one.
 */
export function settleWebSearch(
  { webSearch, toolChoice }: ChatRequest,
  isSupported: boolean,
  drop: (name: 'webSearch') => void,
): ChatRequest['webSearch'] {
  if (toolChoice?.type === 'none') return undefined;
  if (!webSearch || isSupported) return webSearch;
  if (!webSearch.optional) {
    throw new GatewayError('unsupported_tool', 'This model does not search the web.', { param: 'webSearch' });
  }
  drop('webSearch');
  return undefined;
}
