/** Encrypted webhook signing secrets: per owner the active one, and optionally the next one. */

import { type Author, addAudit } from '../audit-rows.ts';
import { type Row, reading, writing } from '../operation.ts';
import { addSecret, type StoredSecret } from '../secret-rows.ts';

/** Time in which several reads of a key's secrets are one entry. */
const READ_INTERVAL_MS = 3_600_000;

/** Secrets of an owner, oldest first. */
export const listSecrets = reading<{ owner: string }, StoredSecret[]>('state', async (transaction, values) => {
  const sql = 'SELECT * FROM webhook_secret WHERE owner = :owner ORDER BY active_at, id';
  return (await transaction.all(sql, values)).map(storedSecret);
});

/** Does nothing if the owner has a secret, or gets one concurrently. */
export const addFirstSecret = writing<StoredSecret, void>('state', async (transaction, secret) => {
  const known = await transaction.all('SELECT id FROM webhook_secret WHERE owner = :owner LIMIT 1', {
    owner: secret.owner,
  });
  if (known.length === 0) await addSecret(transaction, secret);
});

/** Adds the next secret after the active one and deletes all others of the owner. */
export const rotateSecret = writing<StoredSecret & { now: number; author: Author }, void>(
  'state',
  async (transaction, { now, author, ...secret }) => {
    const { owner, activeAt } = secret;
    // First, because it serializes writers: of concurrent rotations the last one wins.
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

/** Notes that secrets were read; by their key only once in a while, so that a key cannot fill the audit log. */
export const noteSecretRead = writing<{ owner: string; now: number; author: Author }, void>(
  'state',
  async (transaction, { owner, now, author }) => {
    const action = 'webhook-secret.read';
    if (author.actor === 'key') {
      const sql = 'SELECT actor, action, at FROM audit WHERE subject = :owner ORDER BY id DESC LIMIT 1';
      const [last] = await transaction.all(sql, { owner });
      const isRepeated = last?.action === action && last.actor === author.actor;
      if (isRepeated && Number(last.at) > now - READ_INTERVAL_MS) return;
    }
    await addAudit(transaction, { author, at: now, action, subject: owner });
  },
);

/** Id of the encryption key of the store; undefined if there is none. */
export const readEncryptionKey = reading<Record<never, never>, string | undefined>('state', async (transaction) => {
  const [row] = await transaction.all('SELECT key_id FROM encryption');
  return row && String(row.key_id);
});

/** Sets the encryption key id if there is none; returns the id in effect. */
export const claimEncryptionKey = writing<{ keyId: string }, string>('state', async (transaction, values) => {
  const [row] = await transaction.all(
    `INSERT INTO encryption (one, key_id) VALUES (1, :keyId)
     ON CONFLICT (one) DO UPDATE SET key_id = encryption.key_id RETURNING key_id`,
    values,
  );
  return String(row?.key_id);
});

/** Changes the encryption key id after re-encryption. */
export const setEncryptionKey = writing<{ keyId: string; changed: number; author: Author; now: number }, void>(
  'state',
  async (transaction, { keyId, changed, author, now }) => {
    await transaction.run('UPDATE encryption SET key_id = :keyId', { keyId });
    const entry = { author, at: now, action: 'encryption.rekey', subject: keyId, after: { secrets: changed } };
    await addAudit(transaction, entry);
  },
);

/** Page of all secrets, after a keyset cursor. */
export const scanSecrets = reading<{ after: string; limit: number }, StoredSecret[]>(
  'state',
  async (transaction, values) => {
    const sql = 'SELECT * FROM webhook_secret WHERE id > :after ORDER BY id LIMIT :limit';
    return (await transaction.all(sql, values)).map(storedSecret);
  },
);

/** Compare-and-set; false if the secret was changed or deleted meanwhile. */
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
