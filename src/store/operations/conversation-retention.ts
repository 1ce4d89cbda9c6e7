/** Retention and encryption of conversations: expired ones, those of deleted keys, and pages for a change of the key. */

import { removeConversations } from '../conversation-rows.ts';
import { type Row, reading, writing } from '../operation.ts';
import { retentionOf } from '../owned-retention.ts';

export const {
  ownersOfExpired: ownersOfExpiredConversations,
  prune: pruneConversations,
  forget: forgetConversations,
} = retentionOf({ table: 'conversation', id: 'id', remove: removeConversations });

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
