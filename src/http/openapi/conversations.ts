/** Descriptions of the routes of conversations. */

import * as Type from 'typebox';
import {
  changedConversationSchema,
  newConversationSchema,
  newItemsSchema,
} from '../../protocols/responses/conversations.ts';
import type { RouteDescription } from '../route-table.ts';
import { anyObject, JSON_TYPE, type Named } from './operation.ts';
import { INCLUDE, ITEM_LIST, json, PAGE } from './responses.ts';

const CONVERSATION: Named = {
  name: 'Conversation',
  schema: Type.Object({
    id: Type.String(),
    object: Type.Literal('conversation'),
    created_at: Type.Integer({ description: 'Unix seconds.' }),
    metadata: anyObject,
  }),
};

const types = [JSON_TYPE];

/** By the last segment of the route's name. */
export const CONVERSATION_DESCRIPTIONS = {
  create: {
    summary: 'Create a conversation',
    body: { types, schema: { name: 'NewConversation', schema: newConversationSchema }, optional: true },
    response: json('The conversation.', CONVERSATION),
  },
  get: { summary: 'Get a conversation', response: json('The conversation.', CONVERSATION) },
  update: {
    summary: 'Change the metadata of a conversation',
    body: { types, schema: { name: 'ChangedConversation', schema: changedConversationSchema } },
    response: json('The changed conversation.', CONVERSATION),
  },
  delete: {
    summary: 'Delete a conversation with its items',
    response: json('The id of the deleted conversation.', anyObject),
  },
  add_items: {
    summary: 'Add items to a conversation',
    query: [INCLUDE],
    body: { types, schema: { name: 'NewConversationItems', schema: newItemsSchema } },
    response: json('The new items.', ITEM_LIST),
  },
  list_items: {
    summary: 'List the items of a conversation',
    query: [...PAGE, INCLUDE],
    response: json('A page of items.', ITEM_LIST),
  },
  get_item: {
    summary: 'Get an item of a conversation',
    query: [INCLUDE],
    response: json('As the protocol has it.', anyObject),
  },
  delete_item: {
    summary: 'Delete an item of a conversation',
    response: json('The conversation without the item.', CONVERSATION),
  },
} satisfies Record<string, Omit<RouteDescription, 'id' | 'tag'>>;

export type ConversationAction = keyof typeof CONVERSATION_DESCRIPTIONS;
