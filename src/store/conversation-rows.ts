/** Rows of conversations, written in the transactions of operations, which lock the sums of the owner first. */

import { EARLIEST_TIME_MS } from '../core/clock.ts';
import type { NewItems, NewStoredItem, StoredConversation, StoredItem } from '../records/stored-conversation.ts';
import type { Row, Transaction } from './operation.ts';
import { addParts, listsOf, removeUses, sumOf } from './stored-rows.ts';

const CONVERSATION_COLUMNS =
  'id, owner, created_at, changed_at, expires_at, metadata, items, whole_bytes, next, holder, held_until';
export const ITEM_COLUMNS = 'row_id, id, content, whole_bytes';

export function conversationOf(row: Row): StoredConversation {
  return {
    id: String(row.id),
    owner: String(row.owner),
    createdAt: Number(row.created_at),
    changedAt: Number(row.changed_at),
    expiresAt: Number(row.expires_at),
    metadata: row.metadata as Uint8Array,
    wholeBytes: Number(row.whole_bytes),
  };
}

export function itemOf({ row_id, id, content, whole_bytes }: Row): StoredItem {
  return {
    row: String(row_id),
    id: String(id),
    content: content as Uint8Array,
    wholeBytes: Number(whole_bytes),
  };
}

export interface NamedConversation {
  owner: string;
  id: string;
  /** Unix milliseconds. */
  now: number;
}

export async function findConversation(
  transaction: Transaction,
  { owner, id, now }: NamedConversation,
): Promise<Row | undefined> {
  const [row] = await transaction.all(
    `SELECT ${CONVERSATION_COLUMNS} FROM conversation WHERE id = :id AND owner = :owner AND expires_at > :now`,
    { owner, id, now },
  );
  return row;
}

/** Items of a response, or of a client, at the end of a conversation. */
export interface Appended extends NewItems {
  conversation: string;
  /** Unix milliseconds. */
  changedAt: number;
  expiresAt: number;
  /** The response that held the conversation, and holds it no more. */
  holder?: string;
}

/** A clock that is not set yet, as near 1970, takes nothing from the time of a conversation. */
const COUNTS = `changed_at <= :now OR :now >= ${EARLIEST_TIME_MS}`;
export const CHANGED = `changed_at = CASE WHEN ${COUNTS} THEN :now ELSE changed_at END,
  expires_at = CASE WHEN ${COUNTS} THEN :expires ELSE expires_at END`;

/** Appends items; returns the bytes that they take. Appends nothing to a conversation that is gone. */
export async function appendItems(transaction: Transaction, owner: string, appended: Appended): Promise<number> {
  const { conversation, items, parts, changedAt, expiresAt, holder } = appended;
  const [known] = await transaction.all(
    `SELECT next, bytes FROM conversation WHERE id = :conversation AND owner = :owner ${transaction.forUpdate}`,
    { conversation, owner },
  );
  if (!known) return 0;
  const first = Number(known.next);
  const taken = await takenIds(transaction, conversation, items);
  const rows = items.map((item, index) => {
    const id = taken.has(item.id) ? item.otherId : item.id;
    taken.add(id);
    const { row, content, wholeBytes } = item;
    const place = { row_id: row, owner, conversation, position: first + index, id };
    return { ...place, content, bytes: content.length, whole_bytes: wholeBytes };
  });
  await transaction.insert('conversation_item', rows);
  const bytes = sumOf(rows);
  const wholeBytes = items.reduce((sum, item) => sum + item.wholeBytes, 0);
  await transaction.run(
    `UPDATE conversation SET next = :next, items = items + :added, bytes = bytes + :bytes,
       whole_bytes = whole_bytes + :whole, ${CHANGED} WHERE id = :conversation`,
    {
      conversation,
      next: first + items.length,
      added: items.length,
      bytes,
      whole: wholeBytes,
      now: changedAt,
      expires: expiresAt,
    },
  );
  if (holder !== undefined) await release(transaction, conversation, holder);
  const uses = items.flatMap(({ row, digests }) => digests.map((digest) => ({ row_id: row, owner, digest })));
  return bytes + (await addParts(transaction, { owner, parts, uses }));
}

/** Ids of items that the conversation has already. */
export async function takenIds(
  transaction: Transaction,
  conversation: string,
  items: readonly Pick<NewStoredItem, 'id'>[],
): Promise<Set<string>> {
  const taken = new Set<string>();
  for (const { list, values } of listsOf(items.map(({ id }) => id))) {
    const found = await transaction.all(
      `SELECT id FROM conversation_item WHERE conversation = :conversation AND id IN (${list})`,
      { ...values, conversation },
    );
    for (const { id } of found) taken.add(String(id));
  }
  return taken;
}

/** Releases a conversation if it is held by `holder`. */
export async function release(transaction: Transaction, conversation: string, holder: string): Promise<void> {
  await transaction.run(
    'UPDATE conversation SET holder = NULL, held_until = NULL WHERE id = :conversation AND holder = :holder',
    { conversation, holder },
  );
}

/** Deletes conversations of one owner with their items; returns the bytes that they took. */
export async function removeConversations(
  transaction: Transaction,
  owner: string,
  ids: readonly string[],
): Promise<number> {
  let bytes = 0;
  for (const { list, values } of listsOf(ids)) {
    const removed = await transaction.all(`DELETE FROM conversation WHERE id IN (${list}) RETURNING bytes`, values);
    const items = await transaction.all(
      `DELETE FROM conversation_item WHERE conversation IN (${list}) RETURNING row_id`,
      values,
    );
    bytes += sumOf(removed);
    for (const rows of listsOf(items.map(({ row_id }) => String(row_id))))
      bytes += await removeUses(transaction, owner, rows);
  }
  return bytes;
}
