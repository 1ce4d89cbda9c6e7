/** Routes of conversations below `/v1/conversations`. */

import type { Protocol } from '../../core/protocol.ts';
import type { ConversationHandlers, ConversationPath } from '../conversations.ts';
import { CONVERSATION_DESCRIPTIONS, type ConversationAction } from '../openapi/conversations.ts';
import type { RequestContext } from '../request-context.ts';
import { matchTemplate, type Route } from '../route-table.ts';

const START = '/v1/conversations';
const ONE = `${START}/{id}`;
const ITEMS = `${ONE}/items`;
const ITEM = `${ITEMS}/{item}`;

const ROUTES: readonly { action: ConversationAction; method: 'GET' | 'POST' | 'DELETE'; template: string }[] = [
  { action: 'create', method: 'POST', template: START },
  { action: 'get', method: 'GET', template: ONE },
  { action: 'update', method: 'POST', template: ONE },
  { action: 'delete', method: 'DELETE', template: ONE },
  { action: 'add_items', method: 'POST', template: ITEMS },
  { action: 'list_items', method: 'GET', template: ITEMS },
  { action: 'get_item', method: 'GET', template: ITEM },
  { action: 'delete_item', method: 'DELETE', template: ITEM },
];

export function conversationRoutes(protocol: Protocol, handlers: ConversationHandlers): Route<RequestContext>[] {
  return ROUTES.map(({ action, method, template }): Route<RequestContext, ConversationPath> => {
    const match = matchTemplate(template);
    return {
      name: `conversations.${action}`,
      method,
      path: START,
      match(path) {
        const found = match(path);
        return found && { id: found.id ?? '', item: found.item ?? '' };
      },
      templates: [{ path: template }],
      protocol,
      surface: protocol.id,
      access: 'key',
      changes: method !== 'GET',
      limited: false,
      describe: () => ({ id: `conversations_${action}`, tag: protocol.id, ...CONVERSATION_DESCRIPTIONS[action] }),
      handle: handlers[action],
    };
  });
}
