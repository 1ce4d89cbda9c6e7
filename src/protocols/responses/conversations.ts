/** Requests about conversations: their schemas, and the check of items that every model has to understand. */

import * as Type from 'typebox';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { knownNames } from '../../core/json/names.ts';
import { MAX_ID_CHARACTERS } from '../../core/lengths.ts';
import { checkItems } from './check-items.ts';
import { checkMetadata, metadataSchema, schema } from './request-schema.ts';
import { isReference } from './stored.ts';

/** Items that one request adds. */
const MAX_ITEMS = 20;

const Item = Type.Object({
  type: Type.Optional(Type.String()),
  id: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_ID_CHARACTERS })),
});

export const newConversationSchema = Type.Object({
  items: Type.Optional(Type.Array(Item, { maxItems: MAX_ITEMS })),
  metadata: Type.Optional(metadataSchema),
});

export const changedConversationSchema = Type.Object({ metadata: Type.Union([metadataSchema, Type.Null()]) });

export const newItemsSchema = Type.Object({ items: Type.Array(Item, { minItems: 1, maxItems: MAX_ITEMS }) });

/** Known names of the bodies. */
export const conversationNames = knownNames([schema, newConversationSchema]);

/** Throws `invalid_request`. */
export function readNewConversation(body: Json): { items: Json[]; metadata: Json } {
  assertValid(newConversationSchema, body);
  return { items: body.items ?? [], metadata: metadataIn(body) };
}

/** Throws `invalid_request`. */
export function readChangedMetadata(body: Json): Json {
  assertValid(changedConversationSchema, body);
  return metadataIn(body);
}

/** Throws `invalid_request`. */
export function readNewItems(body: Json): Json[] {
  assertValid(newItemsSchema, body);
  return body.items;
}

function metadataIn({ metadata }: Json): Json {
  checkMetadata(metadata);
  return metadata ?? {};
}

/** Throws `invalid_request` and `unsupported_parameter`. */
export function checkConversationItems(items: readonly Json[]): void {
  checkItems(
    items.filter((item) => !isReference(item)),
    'items',
  );
}

/** A list of items. */
export function encodeItemList(items: readonly Json[], hasMore: boolean): Json {
  return {
    object: 'list',
    data: items,
    first_id: items[0]?.id ?? null,
    last_id: items.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}
