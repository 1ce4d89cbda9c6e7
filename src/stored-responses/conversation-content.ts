/** Contents of conversations: their metadata and items, encrypted, with large items apart. */

import { isStorableId } from '../core/answer-id.ts';
import { type Json, read, textOf } from '../core/json/json.ts';
import { newTimeOrderedId } from '../core/request-id.ts';
import { asInput, asListed, type ItemSource, itemPrefix } from '../protocols/responses/stored.ts';
import type { NewItems, NewStoredItem, StoredConversation, StoredItem } from '../records/stored-conversation.ts';
import type { StoredPart } from '../records/stored-response.ts';
import type { Cipher } from '../security/cipher.ts';
import { createSlotReader, createSlots, MissingPart } from './content.ts';
import type { StoredContext } from './context.ts';

/** An item for a conversation. */
export interface SourcedItem {
  item: Json;
  /** Source of an item that a model generated. */
  source?: ItemSource;
}

/** An item of a conversation. */
export interface ConversationItem extends SourcedItem {
  id: string;
}

/** Throws `payload_too_large`. */
export async function encodeItems(
  given: readonly SourcedItem[],
  { cipher, clock }: Pick<StoredContext, 'cipher' | 'clock'>,
  owner: string,
): Promise<NewItems> {
  const { slot, sealed } = createSlots(cipher, owner);
  const items: NewStoredItem[] = [];
  for (const { item, source } of given) {
    const row = newTimeOrderedId(clock.now());
    const otherId = `${itemPrefix(item)}_${row}`;
    const before = sealed.bytes;
    const value = await slot(item);
    const text = `{"v":1,"item":${value},"source":${JSON.stringify(source ?? null)}}`;
    items.push({
      row,
      id: isStorableId(item.id) ? item.id : otherId,
      otherId,
      content: cipher.seal(Buffer.from(text), itemLocation(row)),
      wholeBytes: sealed.bytes - before,
      digests: value.startsWith('"') ? [JSON.parse(value)] : [],
    });
  }
  return { items, parts: [...sealed.parts.values()] };
}

/** Undefined if a part was deleted meanwhile. */
export async function decodeItems(
  owner: string,
  { items, parts }: { items: readonly StoredItem[]; parts: readonly StoredPart[] },
  cipher: Cipher,
): Promise<ConversationItem[] | undefined> {
  const { valueIn, open } = createSlotReader(owner, parts, cipher);
  const decoded: ConversationItem[] = [];
  try {
    for (const { row, id, content } of items) {
      const { item, source } = await open(content, itemLocation(row));
      decoded.push({ id, item: await valueIn(item), ...(source && { source }) });
    }
    return decoded;
  } catch (error) {
    if (error instanceof MissingPart) return undefined;
    throw error;
  }
}

/** An item as input of a request. */
export function asSent({ item, source }: SourcedItem): Json {
  return source ? asInput(item, source) : item;
}

/** An item as clients get it. */
export function asShown({ id, item }: ConversationItem): Json {
  return asListed({ ...item, id }, () => id);
}

export function encodeMetadata(metadata: Json, cipher: Cipher, id: string): Uint8Array {
  return cipher.seal(Buffer.from(JSON.stringify(metadata)), metadataLocation(id));
}

/** The conversation object. */
export function encodeConversation(
  { id, createdAt, metadata }: Pick<StoredConversation, 'id' | 'createdAt' | 'metadata'>,
  cipher: Cipher,
): Json {
  return {
    id,
    object: 'conversation',
    created_at: Math.floor(createdAt / 1000),
    metadata: read(cipher.open(metadata, metadataLocation(id))),
  };
}

/** The id that a client gave an item. */
export function givenId(item: Json): string | undefined {
  return textOf(item?.id);
}

export function metadataLocation(id: string) {
  return { table: 'conversation', id, column: 'metadata' };
}

export function itemLocation(row: string) {
  return { table: 'conversation_item', id: row, column: 'content' };
}
