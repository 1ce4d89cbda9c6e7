/** Items of conversations: reads of all, of a page and of one, and deletion. */

import type { StoredConversation, StoredItem } from '../../records/stored-conversation.ts';
import type { StoredPart } from '../../records/stored-response.ts';
import {
  CHANGED,
  conversationOf,
  findConversation,
  ITEM_COLUMNS,
  itemOf,
  type NamedConversation,
} from '../conversation-rows.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';
import {
  listsOf,
  lockTotal,
  type NeededRoom,
  partOf,
  partsOf,
  type ReadRoom,
  removeUses,
  setTotal,
} from '../stored-rows.ts';

export interface ReadItems {
  items: StoredItem[];
  parts: StoredPart[];
}

export interface WholeConversation extends ReadItems {
  conversation: StoredConversation;
}

/** All items, oldest first; undefined if there is no such conversation. */
export const readWholeConversation = reading<
  NamedConversation & { maxItems: number; maxBytes: number } & ReadRoom,
  WholeConversation | NeededRoom | 'too-long' | undefined
>('state', async (transaction, { maxItems, maxBytes, room = Number.POSITIVE_INFINITY, ...named }) => {
  const found = await findConversation(transaction, named);
  if (!found) return undefined;
  if (Number(found.items) > maxItems || Number(found.whole_bytes) > maxBytes) return 'too-long';
  if (Number(found.whole_bytes) > room) return { needs: Number(found.whole_bytes) };
  const values = { owner: named.owner, id: named.id };
  const rows = await transaction.all(
    `SELECT ${ITEM_COLUMNS} FROM conversation_item WHERE conversation = :id AND owner = :owner ORDER BY position`,
    values,
  );
  const parts = await transaction.all(
    `SELECT digest, content FROM stored_part WHERE owner = :owner AND digest IN (
       SELECT part.digest FROM conversation_item AS item JOIN stored_part_use AS part ON part.row_id = item.row_id
       WHERE item.conversation = :id)`,
    values,
  );
  return { conversation: conversationOf(found), items: rows.map(itemOf), parts: parts.map(partOf) };
});

export interface ConversationPageQuery extends NamedConversation, ReadRoom {
  limit: number;
  order: 'asc' | 'desc';
  /** Id of an item. */
  after?: string | undefined;
  maxBytes: number;
}

export interface ConversationPage extends ReadItems {
  hasMore: boolean;
}

/** Undefined if there is no such conversation. A page ends early where it would be larger than `maxBytes`, but for its first item. */
export const readConversationPage = reading<
  ConversationPageQuery,
  ConversationPage | NeededRoom | 'no-item' | undefined
>('state', async (transaction, { limit, order, after, maxBytes, room = Number.POSITIVE_INFINITY, ...named }) => {
  if (!(await findConversation(transaction, named))) return undefined;
  const { id, owner } = named;
  const cursor = after === undefined ? undefined : await findItem(transaction, { id, item: after });
  if (after !== undefined && !cursor) return 'no-item';
  const compared = order === 'asc' ? '>' : '<';
  const bound = cursor ? `AND position ${compared} :position` : '';
  const places = await transaction.all(
    `SELECT row_id, whole_bytes FROM conversation_item WHERE conversation = :id AND owner = :owner ${bound}
       ORDER BY position ${order === 'asc' ? 'ASC' : 'DESC'} LIMIT :limit`,
    { id, owner, limit: limit + 1, ...(cursor && { position: cursor.position ?? null }) },
  );
  const wanted: string[] = [];
  let bytes = 0;
  for (const { row_id, whole_bytes } of places.slice(0, limit)) {
    if (bytes + Number(whole_bytes) > maxBytes && wanted.length > 0) break;
    bytes += Number(whole_bytes);
    wanted.push(String(row_id));
  }
  if (bytes > room) return { needs: bytes };
  return { ...(await readRows(transaction, owner, wanted)), hasMore: places.length > wanted.length };
});

async function readRows(transaction: Transaction, owner: string, wanted: readonly string[]): Promise<ReadItems> {
  const byRow = new Map<string, StoredItem>();
  for (const { list, values } of listsOf(wanted)) {
    const rows = await transaction.all(
      `SELECT ${ITEM_COLUMNS} FROM conversation_item WHERE owner = :owner AND row_id IN (${list})`,
      { ...values, owner },
    );
    for (const row of rows) byRow.set(String(row.row_id), itemOf(row));
  }
  const items = wanted.flatMap((row) => byRow.get(row) ?? []);
  return { items, parts: await partsOf(transaction, owner, wanted) };
}

async function findItem(transaction: Transaction, values: { id: string; item: string }): Promise<Row | undefined> {
  const [row] = await transaction.all(
    `SELECT ${ITEM_COLUMNS}, position, bytes FROM conversation_item WHERE conversation = :id AND id = :item`,
    values,
  );
  return row;
}

/** One item; undefined if there is no such conversation or item. */
export const readConversationItem = reading<
  NamedConversation & { item: string } & ReadRoom,
  ReadItems | NeededRoom | undefined
>('state', async (transaction, { item, room = Number.POSITIVE_INFINITY, ...named }) => {
  const row = (await findConversation(transaction, named)) && (await findItem(transaction, { id: named.id, item }));
  if (!row) return undefined;
  const found = itemOf(row);
  if (found.wholeBytes > room) return { needs: found.wholeBytes };
  return { items: [found], parts: await partsOf(transaction, named.owner, [found.row]) };
});

/** The conversation without the item; undefined if there is no such conversation or item. */
export const deleteConversationItem = writing<
  NamedConversation & { item: string; expiresAt: number },
  StoredConversation | undefined
>('state', async (transaction, { item, expiresAt, ...named }) => {
  const { owner, id, now } = named;
  const total = await lockTotal(transaction, owner);
  const conversation = await findConversation(transaction, named);
  const found = conversation && (await findItem(transaction, { id, item }));
  if (!conversation || !found) {
    await setTotal(transaction, owner, total);
    return undefined;
  }
  const bytes = await removeItems(transaction, owner, { id, rows: [found] });
  await transaction.run(`UPDATE conversation SET ${CHANGED} WHERE id = :id`, {
    id,
    now,
    expires: expiresAt,
  });
  await setTotal(transaction, owner, { ...total, bytes: total.bytes - bytes });
  return conversationOf(conversation);
});

/** Deletes items that a response appended too late. */
export const deleteAppended = writing<{ owner: string; id: string; rows: readonly string[] }, void>(
  'state',
  async (transaction, { owner, id, rows }) => {
    const total = await lockTotal(transaction, owner);
    let bytes = 0;
    for (const { list, values } of listsOf(rows)) {
      const found = await transaction.all(
        `SELECT row_id, bytes, whole_bytes FROM conversation_item
         WHERE conversation = :id AND owner = :owner AND row_id IN (${list})`,
        { ...values, id, owner },
      );
      bytes += await removeItems(transaction, owner, { id, rows: found });
    }
    await setTotal(transaction, owner, { ...total, bytes: total.bytes - bytes });
  },
);

/** Returns the bytes that they took. */
async function removeItems(
  transaction: Transaction,
  owner: string,
  { id, rows }: { id: string; rows: readonly Row[] },
): Promise<number> {
  let bytes = 0;
  for (const row of rows) {
    const own = Number(row.bytes);
    await transaction.run('DELETE FROM conversation_item WHERE row_id = :row', { row: row.row_id ?? null });
    await transaction.run(
      'UPDATE conversation SET items = items - 1, bytes = bytes - :own, whole_bytes = whole_bytes - :whole WHERE id = :id',
      { id, own, whole: row.whole_bytes ?? 0 },
    );
    bytes += own;
  }
  for (const list of listsOf(rows.map(({ row_id }) => String(row_id))))
    bytes += await removeUses(transaction, owner, list);
  return bytes;
}

/** Items of any conversation of an owner by their ids; `too-long` if they exceed the limit. */
export const findConversationItems = reading<
  { owner: string; ids: readonly string[]; now: number; maxBytes: number } & ReadRoom,
  ReadItems | NeededRoom | 'too-long'
>('state', async (transaction, { owner, ids, now, maxBytes, room = Number.POSITIVE_INFINITY }) => {
  const places: Row[] = [];
  for (const { list, values } of listsOf(ids)) {
    const found = await transaction.all(
      `SELECT item.row_id, item.id, item.whole_bytes FROM conversation_item AS item
       JOIN conversation ON conversation.id = item.conversation
       WHERE item.owner = :owner AND conversation.expires_at > :now AND item.id IN (${list})
       ORDER BY conversation.changed_at`,
      { ...values, owner, now },
    );
    places.push(...found);
  }
  // The newest of those with one id.
  const newest = [...new Map(places.map((place) => [String(place.id), place])).values()];
  const bytes = newest.reduce((sum, { whole_bytes }) => sum + Number(whole_bytes), 0);
  if (bytes > maxBytes) return 'too-long';
  if (bytes > room) return { needs: bytes };
  return readRows(
    transaction,
    owner,
    newest.map(({ row_id }) => String(row_id)),
  );
});
