/** Conversations: created, changed, deleted, and held by one response at a time. */

import type { NewItems, StoredConversation } from '../../records/stored-conversation.ts';
import {
  type Appended,
  appendItems,
  CHANGED,
  conversationOf,
  findConversation,
  type NamedConversation,
  release,
  removeConversations,
  takenIds,
} from '../conversation-rows.ts';
import { reading, type Transaction, writing } from '../operation.ts';
import { makeRoom } from '../stored-room.ts';
import { lockTotal, type StoredLimits, setTotal } from '../stored-rows.ts';

interface NewConversation extends NewItems {
  conversation: Omit<StoredConversation, 'wholeBytes'>;
  limits: StoredLimits;
}

/** Creates a conversation with its first items, and deletes the oldest of an owner that exceeds its limits. */
export const putConversation = writing<NewConversation, void>(
  'state',
  async (transaction, { conversation, limits, items, parts }) => {
    const { id, owner, createdAt, changedAt, expiresAt, metadata } = conversation;
    const before = await lockTotal(transaction, owner);
    const row = { id, owner, created_at: createdAt, changed_at: changedAt, expires_at: expiresAt, metadata };
    const counts = { next: 0, items: 0, bytes: metadata.length, whole_bytes: 0, holder: null, held_until: null };
    await transaction.insert('conversation', [{ ...row, ...counts }]);
    const appended = { conversation: id, items, parts, changedAt, expiresAt };
    const bytes = before.bytes + metadata.length + (await appendItems(transaction, owner, appended));
    const total = { responses: before.responses + 1, bytes };
    await setTotal(transaction, owner, await makeRoom(transaction, owner, { total, limits, but: id }));
  },
);

/** Undefined for an id that the owner does not have, and for an expired conversation. */
export const readConversation = reading<NamedConversation, StoredConversation | undefined>(
  'state',
  async (transaction, named) => {
    const row = await findConversation(transaction, named);
    return row && conversationOf(row);
  },
);

/** Replaces the metadata; false if there is no such conversation. */
export const changeConversation = writing<NamedConversation & { metadata: Uint8Array; expiresAt: number }, boolean>(
  'state',
  async (transaction, { owner, id, now, metadata, expiresAt }) => {
    const total = await lockTotal(transaction, owner);
    const found = await findConversation(transaction, { owner, id, now });
    const more = found ? metadata.length - (found.metadata as Uint8Array).length : 0;
    if (found) {
      await transaction.run(
        `UPDATE conversation SET metadata = :metadata, bytes = bytes + :more, ${CHANGED}
         WHERE id = :id`,
        { id, now, metadata, more, expires: expiresAt },
      );
    }
    await setTotal(transaction, owner, { ...total, bytes: total.bytes + more });
    return found !== undefined;
  },
);

/** Deletes a conversation with its items; false if there is none. */
export const deleteConversation = writing<NamedConversation, boolean>('state', async (transaction, named) => {
  const { owner, id } = named;
  const total = await lockTotal(transaction, owner);
  const found = await findConversation(transaction, named);
  const bytes = found ? await removeConversations(transaction, owner, [id]) : 0;
  const responses = total.responses - (found ? 1 : 0);
  await setTotal(transaction, owner, { responses, bytes: total.bytes - bytes });
  return found !== undefined;
});

export interface ClientAppend {
  named: NamedConversation;
  appended: Appended;
  limits: StoredLimits & { conversationItems: number; conversationBytes: number };
}

export type AppendOutcome = 'appended' | 'unknown' | 'too-long' | { duplicate: string };

/** Appends items of a client. Appends all or none. */
export const appendToConversation = writing<ClientAppend, AppendOutcome>(
  'state',
  async (transaction, { named, appended, limits }) => {
    const { owner } = named;
    const before = await lockTotal(transaction, owner);
    const outcome = await checkAppend(transaction, { named, appended, limits });
    if (outcome !== 'appended') {
      await setTotal(transaction, owner, before);
      return outcome;
    }
    const bytes = before.bytes + (await appendItems(transaction, owner, appended));
    const total = { responses: before.responses, bytes };
    await setTotal(transaction, owner, await makeRoom(transaction, owner, { total, limits, but: named.id }));
    return outcome;
  },
);

async function checkAppend(
  transaction: Transaction,
  { named, appended: { items }, limits }: ClientAppend,
): Promise<AppendOutcome> {
  const found = await findConversation(transaction, named);
  if (!found) return 'unknown';
  const [taken] = await takenIds(transaction, named.id, items);
  if (taken !== undefined) return { duplicate: taken };
  const bytes = items.reduce((sum, { wholeBytes }) => sum + wholeBytes, Number(found.whole_bytes));
  const isTooLong = Number(found.items) + items.length > limits.conversationItems || bytes > limits.conversationBytes;
  return isTooLong ? 'too-long' : 'appended';
}

/** Appends the items of a response that is not stored itself. */
export const appendTurn = writing<{ owner: string; appended: Appended; limits: StoredLimits }, void>(
  'state',
  async (transaction, { owner, appended, limits }) => {
    const before = await lockTotal(transaction, owner);
    const bytes = before.bytes + (await appendItems(transaction, owner, appended));
    const total = { responses: before.responses, bytes };
    const but = appended.conversation;
    await setTotal(transaction, owner, await makeRoom(transaction, owner, { total, limits, but }));
  },
);

export interface ConversationHold {
  holder: string;
  /** Unix milliseconds. */
  until: number;
}

/**
 * Holds a conversation for a response, unless another one holds it; undefined if there is no such conversation. A hold that
 * lasts longer than any is from before the clock was set back.
 */
export const holdConversation = writing<
  NamedConversation & ConversationHold & { expiresAt: number },
  'held' | 'busy' | undefined
>('state', async (transaction, { owner, id, now, holder, until, expiresAt }) => {
  const held = await transaction.run(
    `UPDATE conversation SET holder = :holder, held_until = :until, ${CHANGED}
     WHERE id = :id AND owner = :owner AND expires_at > :now
       AND (holder IS NULL OR held_until <= :now OR held_until > :latest)`,
    { owner, id, now, holder, until, latest: 2 * until - now, expires: expiresAt },
  );
  if (held > 0) return 'held';
  return (await findConversation(transaction, { owner, id, now })) && 'busy';
});

/** False if another response holds it, or none. */
export const renewConversationHold = writing<{ id: string } & ConversationHold, boolean>(
  'state',
  async (transaction, { id, holder, until }) => {
    const sql = 'UPDATE conversation SET held_until = :until WHERE id = :id AND holder = :holder';
    return (await transaction.run(sql, { id, holder, until })) > 0;
  },
);

export const releaseConversation = writing<{ id: string; holder: string }, void>(
  'state',
  (transaction, { id, holder }) => release(transaction, id, holder),
);
