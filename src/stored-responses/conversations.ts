/** Stored conversations of a key: created, changed, deleted, and their items. */

import { randomBytes } from 'node:crypto';
import { isStorableId } from '../core/answer-id.ts';
import type { Json } from '../core/json/json.ts';
import { checkConversationItems } from '../protocols/responses/conversations.ts';
import { isReference, withoutState } from '../protocols/responses/stored.ts';
import type { ConversationPageQuery } from '../store/operations/conversation-items.ts';
import { limitsOf, readReserved, readWhole, type StoredContext, wholeBytesOf } from './context.ts';
import {
  asShown,
  type ConversationItem,
  decodeItems,
  encodeConversation,
  encodeItems,
  encodeMetadata,
} from './conversation-content.ts';
import { checkNewItems } from './conversation-turn.ts';
import {
  changingConversation,
  duplicateItem,
  tooLong,
  unknownConversation,
  unknownConversationItem,
  unknownItem,
} from './errors.ts';
import { createItemSearch, type Reader } from './items.ts';

export interface ItemListQuery extends Pick<ConversationPageQuery, 'limit' | 'order' | 'after'> {
  include: readonly string[];
}

export interface ItemList {
  items: Json[];
  hasMore: boolean;
}

/** All throw `conversation_not_found`, also for an unknown item. */
export interface Conversations {
  /** Throws `invalid_request` and `unsupported_parameter` for its items. */
  create(reader: Reader, given: { items: readonly Json[]; metadata: Json }): Promise<Json>;
  get(owner: string, id: string): Promise<Json>;
  change(owner: string, id: string, metadata: Json): Promise<Json>;
  delete(owner: string, id: string): Promise<void>;
  /** The new items. Throws the errors of `create`, and `context_length_exceeded`. */
  add(reader: Reader, id: string, items: readonly Json[]): Promise<Json[]>;
  list(reader: Reader, id: string, query: ItemListQuery): Promise<ItemList>;
  item(reader: Reader, id: string, named: { item: string; include: readonly string[] }): Promise<Json>;
  /** The conversation without the item. */
  deleteItem(owner: string, id: string, item: string): Promise<Json>;
}

/** Maximum size of a page of items. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

export function createConversations(context: StoredContext): Conversations {
  const { store, cipher, clock, settings } = context;

  function limits(): { responses: number; bytes: number } {
    const { maxResponses: responses, maxBytes: bytes } = settings();
    return { responses, bytes };
  }

  const expiry = (): number => clock.now() + settings().keepMs;

  /** Throws for an id that no conversation has. */
  function named(owner: string, id: string): { owner: string; id: string; now: number } {
    if (!isStorableId(id)) throw unknownConversation(id);
    return { owner, id, now: clock.now() };
  }

  /** References become the items to which they refer. */
  async function resolved(reader: Reader, items: readonly Json[]): Promise<Json[]> {
    const found = await createItemSearch(context, reader)(items.filter(isReference).map(({ id }) => String(id)));
    if (found === 'too-long') throw tooLong('items', limitsOf(context));
    const whole = items.map((item, index) => {
      if (!isReference(item)) return item;
      const located = found.get(String(item.id));
      if (located && 'item' in located) return located.item;
      throw unknownItem(String(item.id), `items[${index}].id`);
    });
    checkConversationItems(whole);
    return whole;
  }

  const show = (item: ConversationItem, include: readonly string[]): Json =>
    withoutState({ output: [asShown(item)] }, include).output[0];

  async function get(owner: string, id: string): Promise<Json> {
    const found = await store.call('readConversation', named(owner, id));
    if (!found) throw unknownConversation(id);
    return encodeConversation(found, cipher);
  }

  return {
    async create(reader, { items, metadata }) {
      const { owner } = reader;
      const whole = await resolved(reader, items);
      checkNewItems(whole, new Set(), 'items');
      const id = `conv_${randomBytes(24).toString('hex')}`;
      const now = clock.now();
      const sealed = encodeMetadata(metadata, cipher, id);
      const times = { createdAt: now, changedAt: now, expiresAt: expiry() };
      const conversation = { id, owner, ...times, metadata: sealed };
      const encoded = await encodeItems(
        whole.map((item) => ({ item })),
        context,
        owner,
      );
      await store.call('putConversation', { conversation, limits: limits(), ...encoded });
      return encodeConversation(conversation, cipher);
    },

    get,

    async change(owner, id, metadata) {
      const sealed = encodeMetadata(metadata, cipher, id);
      const change = { ...named(owner, id), metadata: sealed, expiresAt: expiry() };
      if (!(await store.call('changeConversation', change))) throw unknownConversation(id);
      return get(owner, id);
    },

    async delete(owner, id) {
      if (!(await store.call('deleteConversation', named(owner, id)))) throw unknownConversation(id);
    },

    async add(reader, id, items) {
      const { owner } = reader;
      const one = named(owner, id);
      // A conversation of another key is unknown before anything is said about the items.
      if (!(await store.call('readConversation', one))) throw unknownConversation(id);
      const whole = await resolved(reader, items);
      checkNewItems(whole, new Set(), 'items');
      const encoded = await encodeItems(
        whole.map((item) => ({ item })),
        context,
        owner,
      );
      const { maxItems: conversationItems, maxBytes: conversationBytes } = limitsOf(context);
      const outcome = await store.call('appendToConversation', {
        named: one,
        appended: { ...encoded, conversation: id, changedAt: clock.now(), expiresAt: expiry() },
        limits: { ...limits(), conversationItems, conversationBytes },
      });
      if (outcome === 'unknown') throw unknownConversation(id);
      if (outcome === 'too-long') throw tooLong('items', limitsOf(context));
      if (outcome !== 'appended') throw duplicateItem(outcome.duplicate, 'items');
      return encoded.items.map((added, index) => show({ id: added.id, item: whole[index] }, []));
    },

    async list({ owner, reserve }, id, { include, ...query }) {
      const asked = { ...named(owner, id), ...query, maxBytes: MAX_PAGE_BYTES };
      const list = await readWhole(reserve, async (more) => {
        const page = await readReserved(
          (room) => store.call('readConversationPage', { ...asked, room }),
          more,
          (read) => (read && read !== 'no-item' ? wholeBytesOf(read.items) : 0),
        );
        if (!page) throw unknownConversation(id);
        if (page === 'no-item') throw unknownConversationItem(String(query.after), id, 'after');
        const items = await decodeItems(owner, page, cipher);
        return items && { items: items.map((item) => show(item, include)), hasMore: page.hasMore };
      });
      if (!list) throw changingConversation();
      return list;
    },

    async item({ owner, reserve }, id, { item, include }) {
      const asked = { ...named(owner, id), item };
      if (!isStorableId(item)) throw unknownConversationItem(item, id);
      const found = await readReserved(
        (room) => store.call('readConversationItem', { ...asked, room }),
        reserve,
        (read) => wholeBytesOf(read?.items ?? []),
      );
      if (!found) throw unknownConversationItem(item, id);
      const [only] = (await decodeItems(owner, found, cipher)) ?? [];
      if (!only) throw unknownConversationItem(item, id);
      return show(only, include);
    },

    async deleteItem(owner, id, item) {
      const found = isStorableId(item)
        ? await store.call('deleteConversationItem', { ...named(owner, id), item, expiresAt: expiry() })
        : undefined;
      if (!found) throw unknownConversationItem(item, id);
      return encodeConversation(found, cipher);
    },
  };
}
