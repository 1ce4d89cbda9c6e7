/** Routes of stored responses below `/v1/responses`, and of conversations below `/v1/conversations`. */

import type { Protocol } from '../../core/protocol.ts';
import type { ConversationHandlers, ConversationPath } from '../conversations.ts';
import { CONVERSATION_DESCRIPTIONS, type ConversationAction } from '../openapi/conversations.ts';
import { RESPONSE_DESCRIPTIONS, type ResponseAction } from '../openapi/responses.ts';
import type { RequestContext } from '../request-context.ts';
import { matchTemplate, type Route, type RouteDescription } from '../route-table.ts';
import type { ResponseHandlers } from '../stored-responses.ts';

/** An action, its method, and its path below that of its resource. */
type ActionRoute<Action> = readonly [action: Action, method: 'GET' | 'POST' | 'DELETE', below: string];

const RESPONSE_ROUTES: readonly ActionRoute<ResponseAction>[] = [
  ['get', 'GET', '/{id}'],
  ['delete', 'DELETE', '/{id}'],
  ['cancel', 'POST', '/{id}/cancel'],
  ['items', 'GET', '/{id}/input_items'],
];

const CONVERSATION_ROUTES: readonly ActionRoute<ConversationAction>[] = [
  ['create', 'POST', ''],
  ['get', 'GET', '/{id}'],
  ['update', 'POST', '/{id}'],
  ['delete', 'DELETE', '/{id}'],
  ['add_items', 'POST', '/{id}/items'],
  ['list_items', 'GET', '/{id}/items'],
  ['get_item', 'GET', '/{id}/items/{item}'],
  ['delete_item', 'DELETE', '/{id}/items/{item}'],
];

export function responseRoutes(protocol: Protocol, handlers: ResponseHandlers): Route<RequestContext>[] {
  return RESPONSE_ROUTES.map((route) =>
    storedRoute(protocol, 'responses', route, { describe: RESPONSE_DESCRIPTIONS, handle: handlers }),
  );
}

export function conversationRoutes(protocol: Protocol, handlers: ConversationHandlers): Route<RequestContext>[] {
  return CONVERSATION_ROUTES.map((route) =>
    storedRoute(protocol, 'conversations', route, { describe: CONVERSATION_DESCRIPTIONS, handle: handlers }),
  );
}

interface StoredActions<Action extends string> {
  describe: Readonly<Record<Action, Omit<RouteDescription, 'id' | 'tag'>>>;
  handle: Readonly<Record<Action, (context: RequestContext, match: ConversationPath) => Promise<void>>>;
}

function storedRoute<Action extends string>(
  protocol: Protocol,
  resource: 'responses' | 'conversations',
  [action, method, below]: ActionRoute<Action>,
  { describe, handle }: StoredActions<Action>,
): Route<RequestContext, ConversationPath> {
  const path = `/v1/${resource}`;
  const template = path + below;
  const match = matchTemplate(template);
  return {
    name: `${resource}.${action}`,
    method,
    path,
    match(asked) {
      const found = match(asked);
      return found && { id: found.id ?? '', item: found.item ?? '' };
    },
    templates: [{ path: template }],
    protocol,
    surface: protocol.id,
    access: 'key',
    changes: method !== 'GET',
    limited: false,
    describe: () => ({ id: `${resource}_${action}`, tag: protocol.id, ...describe[action] }),
    handle: handle[action],
  };
}
