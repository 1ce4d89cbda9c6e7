/** Handlers of conversations: the conversations of a key, and their items. */

import { GatewayError } from '../core/errors.ts';
import { readBody } from '../core/json/body.ts';
import type { Json } from '../core/json/json.ts';
import {
  conversationNames,
  encodeItemList,
  readChangedMetadata,
  readNewConversation,
  readNewItems,
} from '../protocols/responses/conversations.ts';
import type { StoredResponses } from '../stored-responses/service.ts';
import { checkContentType } from './inference.ts';
import type { ConversationAction } from './openapi/conversations.ts';
import { keyOf, NO_BODY, type RequestContext } from './request-context.ts';
import { readForwardPage, readInclude } from './response-queries.ts';
import type { StoredRequests } from './stored-requests.ts';

export interface ConversationPath {
  id: string;
  item: string;
}

export type ConversationHandlers = Readonly<
  Record<ConversationAction, (context: RequestContext, match: ConversationPath) => Promise<void>>
>;

export interface ConversationHandlersOptions {
  stored: StoredResponses;
  requests: StoredRequests;
}

export function createConversationHandlers({ stored, requests }: ConversationHandlersOptions): ConversationHandlers {
  const { ownerOf, readerOf, send } = requests;

  return {
    async create(context) {
      const reader = readerOf(context);
      if (!stored.isOn(keyOf(context).settings.storeResponses)) throw notStored();
      const given = readNewConversation(context.body.length === 0 ? {} : await bodyOf(context));
      return send(context, { body: await stored.conversations.create(reader, given) });
    },

    async get(context, { id }) {
      return send(context, { body: await stored.conversations.get(ownerOf(context), id) });
    },

    async update(context, { id }) {
      const owner = ownerOf(context);
      const metadata = readChangedMetadata(await bodyOf(context));
      return send(context, { body: await stored.conversations.change(owner, id, metadata) });
    },

    async delete(context, { id }) {
      await stored.conversations.delete(ownerOf(context), id);
      return send(context, { body: { id, object: 'conversation.deleted', deleted: true } });
    },

    async add_items(context, { id }) {
      const reader = readerOf(context);
      const items = await stored.conversations.add(reader, id, readNewItems(await bodyOf(context)));
      return send(context, { body: encodeItemList(items, false) });
    },

    async list_items(context, { id }) {
      const query = { ...readForwardPage(context.query), include: readInclude(context.query) };
      const { items, hasMore } = await stored.conversations.list(readerOf(context), id, query);
      return send(context, { body: encodeItemList(items, hasMore) });
    },

    async get_item(context, { id, item }) {
      const named = { item, include: readInclude(context.query) };
      return send(context, { body: await stored.conversations.item(readerOf(context), id, named) });
    },

    async delete_item(context, { id, item }) {
      return send(context, { body: await stored.conversations.deleteItem(ownerOf(context), id, item) });
    },
  };
}

async function bodyOf(context: RequestContext): Promise<Json> {
  const { headers } = context.request;
  checkContentType(headers['content-type'], headers['content-encoding']);
  const { body } = context;
  context.body = NO_BODY;
  return readBody(body, { names: conversationNames });
}

function notStored(): GatewayError {
  const message = 'The gateway stores no responses, and so no conversations: send the whole conversation in input.';
  return new GatewayError('unsupported_parameter', message);
}
