/** What webhooks are signed with: ciphertexts, of which an owner has one that signs and perhaps one that will. */

import { type Author, addAudit } from '../audit-rows.ts';
import { type Row, reading, writing } from '../operation.ts';
import { addSecret, type StoredSecret } from '../secret-rows.ts';

export type { StoredSecret } from '../secret-rows.ts';

/** An owner's secrets, the oldest first. */
export const listSecrets = reading<{ owner: string }, StoredSecret[]>('state', async (transaction, values) => {
  const sql = 'SELECT * FROM webhook_secret WHERE owner = :owner ORDER BY active_at, id';
  return (await transaction.all(sql, values)).map(storedSecret);
});

/** Does nothing when the owner has one, or gets one at the same time. */
export const addFirstSecret = writing<StoredSecret, void>('state', async (transaction, secret) => {
  const known = await transaction.all('SELECT id FROM webhook_secret WHERE owner = :owner LIMIT 1', {
    owner: secret.owner,
  });
  if (known.length === 0) await addSecret(transaction, secret);
});

/** Puts a secret behind the one that signs now, and removes all others of the owner. */
export const rotateSecret = writing<StoredSecret & { now: number; author: Author }, void>(
  'state',
  async (transaction, { now, author, ...secret }) => {
    const { owner, activeAt } = secret;
    // First, because writers wait for each other there: of rotations at the same moment the last one stands.
    const entry = { author, at: now, action: 'webhook-secret.rotate', subject: owner };
    await addAudit(transaction, { ...entry, after: { active_at: activeAt } });
    const active = `SELECT id FROM webhook_secret WHERE owner = :owner AND active_at <= :now
      ORDER BY active_at DESC, id DESC LIMIT 1`;
    const others = 'DELETE FROM webhook_secret WHERE owner = :owner';
    if (activeAt <= now) await transaction.run(others, { owner });
    else await transaction.run(`${others} AND id NOT IN (${active})`, { owner, now });
    await addSecret(transaction, secret);
  },
);

/** The id of the key that the store is encrypted with; undefined while there is none. */
export const readEncryptionKey = reading<Record<never, never>, string | undefined>('state', async (transaction) => {
  const [row] = await transaction.all('SELECT key_id FROM encryption');
  return row && String(row.key_id);
});

/** Of those that do this at the same moment one wins: the answer is whose. */
export const claimEncryptionKey = writing<{ keyId: string }, string>('state', async (transaction, values) => {
  const [row] = await transaction.all(
    `INSERT INTO encryption (one, key_id) VALUES (1, :keyId)
     ON CONFLICT (one) DO UPDATE SET key_id = encryption.key_id RETURNING key_id`,
    values,
  );
  return String(row?.key_id);
});

/** After everything is encrypted anew. */
export const setEncryptionKey = writing<{ keyId: string; changed: number; author: Author; now: number }, void>(
  'state',
  async (transaction, { keyId, changed, author, now }) => {
    await transaction.run('UPDATE encryption SET key_id = :keyId', { keyId });
    const entry = { author, at: now, action: 'encryption.rekey', subject: keyId, after: { secrets: changed } };
    await addAudit(transaction, entry);
  },
);

/** Secrets behind an id, for going through all of them. */
export const scanSecrets = reading<{ after: string; limit: number }, StoredSecret[]>(
  'state',
  async (transaction, values) => {
    const sql = 'SELECT * FROM webhook_secret WHERE id > :after ORDER BY id LIMIT :limit';
    return (await transaction.all(sql, values)).map(storedSecret);
  },
);

/** False when it was changed or removed meanwhile. */
export const replaceCiphertext = writing<{ id: string; from: string; to: string }, boolean>(
  'state',
  async (transaction, values) => {
    const sql = 'UPDATE webhook_secret SET ciphertext = :to WHERE id = :id AND ciphertext = :from';
    return (await transaction.run(sql, values)) > 0;
  },
);

function storedSecret(row: Row): StoredSecret {
  return {
    id: String(row.id),
    owner: String(row.owner),
    ciphertext: String(row.ciphertext),
    createdAt: Number(row.created_at),
    activeAt: Number(row.active_at),
  };
}
