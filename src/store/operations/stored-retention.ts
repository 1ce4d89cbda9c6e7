/** Retention of stored responses: expired ones, and those of deleted keys. */

import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { lockTotal, removeStored, setTotal } from '../stored-rows.ts';

/** Owners of expired responses. */
export const ownersOfExpiredResponses = reading<{ now: number; limit: number }, string[]>(
  'state',
  async (transaction, values) => {
    const rows = await transaction.all(
      `SELECT DISTINCT owner FROM (
         SELECT owner FROM stored_response WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit) AS expired`,
      values,
    );
    return rows.map(({ owner }) => String(owner));
  },
);

/** Revoked keys with stored responses. */
export const revokedOwnersOfResponses = reading<object, string[]>('state', async (transaction) => {
  const rows = await transaction.all(
    `SELECT owner FROM stored_total JOIN api_key ON api_key.id = stored_total.owner
     WHERE api_key.revoked_at IS NOT NULL`,
  );
  return rows.map(({ owner }) => String(owner));
});

/** Deletes up to `limit` expired responses of an owner; returns their number. */
export const pruneStoredResponses = writing<{ owner: string; now: number; limit: number }, number>(
  'state',
  (transaction, { owner, now, limit }) =>
    removeSome(transaction, owner, {
      sql: 'SELECT row_id FROM stored_response WHERE owner = :owner AND expires_at <= :now ORDER BY expires_at LIMIT :limit',
      values: { owner, now, limit },
    }),
);

/** Deletes up to `limit` responses of an owner; returns their number. */
export const forgetStoredResponses = writing<{ owner: string; limit: number }, number>(
  'state',
  (transaction, { owner, limit }) =>
    removeSome(transaction, owner, {
      sql: 'SELECT row_id FROM stored_response WHERE owner = :owner LIMIT :limit',
      values: { owner, limit },
    }),
);

async function removeSome(
  transaction: Transaction,
  owner: string,
  { sql, values }: { sql: string; values: Row },
): Promise<number> {
  const total = await lockTotal(transaction, owner);
  const rows = (await transaction.all(sql, values)).map(({ row_id }) => String(row_id));
  const bytes = await removeStored(transaction, owner, rows);
  await setTotal(transaction, owner, { responses: total.responses - rows.length, bytes: total.bytes - bytes });
  return rows.length;
}
