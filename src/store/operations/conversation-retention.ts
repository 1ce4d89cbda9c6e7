/** Retention and encryption of conversations: expired ones, those of deleted keys, and pages for a change of the key. */

import { removeConversations } from '../conversation-rows.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { lockTotal, setTotal } from '../stored-rows.ts';

/** Owners of expired conversations. */
export const ownersOfExpiredConversations = reading<{ now: number; limit: number }, string[]>(
  'state',
  async (transaction, values) => {
    const rows = await transaction.all(
      `SELECT DISTINCT owner FROM (
         SELECT owner FROM conversation WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit) AS expired`,
      values,
    );
    return rows.map(({ owner }) => String(owner));
  },
);

/** Deletes up to `limit` expired conversations of an owner; returns their number. */
export const pruneConversations = writing<{ owner: string; now: number; limit: number }, number>(
  'state',
  (transaction, { owner, now, limit }) =>
    removeSome(transaction, owner, {
      sql: 'SELECT id FROM conversation WHERE owner = :owner AND expires_at <= :now ORDER BY expires_at LIMIT :limit',
      values: { owner, now, limit },
    }),
);

/** Deletes up to `limit` conversations of an owner; returns their number. */
export const forgetConversations = writing<{ owner: string; limit: number }, number>(
  'state',
  (transaction, { owner, limit }) =>
    removeSome(transaction, owner, {
      sql: 'SELECT id FROM conversation WHERE owner = :owner LIMIT :limit',
      values: { owner, limit },
    }),
);

async function removeSome(
  transaction: Transaction,
  owner: string,
  { sql, values }: { sql: string; values: Row },
): Promise<number> {
  const total = await lockTotal(transaction, owner);
  const ids = (await transaction.all(sql, values)).map(({ id }) => String(id));
  const bytes = await removeConversations(transaction, owner, ids);
  await setTotal(transaction, owner, { responses: total.responses - ids.length, bytes: total.bytes - bytes });
  return ids.length;
}

/** An encrypted column and the id of its row. */
export interface SealedColumn {
  id: string;
  content: Uint8Array;
}

interface PageOfColumn {
  after: string;
  limit: number;
}

interface Replacement {
  id: string;
  from: Uint8Array;
  to: Uint8Array;
}

export const scanConversationMetadata = reading<PageOfColumn, SealedColumn[]>('state', async (transaction, values) =>
  (
    await transaction.all(
      'SELECT id, metadata AS content FROM conversation WHERE id > :after ORDER BY id LIMIT :limit',
      { ...values },
    )
  ).map(columnOf),
);

export const scanConversationItems = reading<PageOfColumn, SealedColumn[]>('state', async (transaction, values) =>
  (
    await transaction.all(
      'SELECT row_id AS id, content FROM conversation_item WHERE row_id > :after ORDER BY row_id LIMIT :limit',
      { ...values },
    )
  ).map(columnOf),
);

/** Compare-and-set; false if the metadata was changed or deleted meanwhile. */
export const replaceConversationMetadata = writing<Replacement, boolean>(
  'state',
  async (transaction, values) =>
    (await transaction.run('UPDATE conversation SET metadata = :to WHERE id = :id AND metadata = :from', {
      ...values,
    })) > 0,
);

/** Compare-and-set; false if the item was deleted meanwhile. */
export const replaceConversationItem = writing<Replacement, boolean>(
  'state',
  async (transaction, values) =>
    (await transaction.run('UPDATE conversation_item SET content = :to WHERE row_id = :id AND content = :from', {
      ...values,
    })) > 0,
);

function columnOf({ id, content }: Row): SealedColumn {
  return { id: String(id), content: content as Uint8Array };
}
