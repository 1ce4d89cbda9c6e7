/** Storage limits of a key: its oldest responses and conversations are deleted beyond them. */

import { removeConversations } from './conversation-rows.ts';
import type { Row, Transaction } from './operation.ts';
import { removeStored, type StoredLimits, type StoredTotal } from './stored-rows.ts';

/** Rows of an owner that one transaction deletes to make room. */
const EVICTION_BATCH = 20;

const FINISHED_RESPONSES = `SELECT row_id AS id, created_at AS at, 0 AS is_conversation FROM stored_response
  WHERE owner = :owner AND row_id <> :but AND status NOT IN ('queued', 'in_progress')
  ORDER BY created_at, row_id LIMIT ${EVICTION_BATCH}`;
const CONVERSATIONS = `SELECT id, changed_at AS at, 1 AS is_conversation FROM conversation
  WHERE owner = :owner AND id <> :but ORDER BY changed_at, id LIMIT ${EVICTION_BATCH}`;

/** Deletes some of the oldest finished responses and of the conversations that were not used for longest. */
export async function makeRoom(
  transaction: Transaction,
  owner: string,
  { total, limits, but }: { total: StoredTotal; limits: StoredLimits; but: string },
): Promise<StoredTotal> {
  if (total.responses <= limits.responses && total.bytes <= limits.bytes) return total;
  let { responses, bytes } = total;
  // One by one: how much each frees depends on the parts that it shares with others.
  for (const { id, isConversation } of await oldest(transaction, { owner, but })) {
    if (responses <= limits.responses && bytes <= limits.bytes) break;
    const remove = isConversation ? removeConversations : removeStored;
    bytes -= await remove(transaction, owner, [id]);
    responses -= 1;
  }
  return { responses, bytes };
}

async function oldest(transaction: Transaction, values: Row): Promise<{ id: string; isConversation: boolean }[]> {
  const found = [
    ...(await transaction.all(FINISHED_RESPONSES, values)),
    ...(await transaction.all(CONVERSATIONS, values)),
  ];
  return found
    .sort((one, other) => Number(one.at) - Number(other.at))
    .slice(0, EVICTION_BATCH)
    .map(({ id, is_conversation }) => ({ id: String(id), isConversation: Number(is_conversation) === 1 }));
}
