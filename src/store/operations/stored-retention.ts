/** Retention of stored responses: expired ones, and those of deleted keys. */

import { reading } from '../operation.ts';
import { retentionOf } from '../owned-retention.ts';
import { removeStored } from '../stored-rows.ts';

export const {
  ownersOfExpired: ownersOfExpiredResponses,
  prune: pruneStoredResponses,
  forget: forgetStoredResponses,
} = retentionOf({ table: 'stored_response', id: 'row_id', remove: removeStored });

/** Revoked keys with stored responses. */
export const revokedOwnersOfResponses = reading<object, string[]>('state', async (transaction) => {
  const rows = await transaction.all(
    `SELECT owner FROM stored_total JOIN api_key ON api_key.id = stored_total.owner
     WHERE api_key.revoked_at IS NOT NULL`,
  );
  return rows.map(({ owner }) => String(owner));
});
