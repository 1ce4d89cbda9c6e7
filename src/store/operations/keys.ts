/** API keys and what clients present to be recognised. */

import { GatewayError } from '../../core/errors.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';

/** Moments are Unix milliseconds. */
export interface KeyRow {
  id: string;
  name: string;
  /** JSON. */
  settings: string;
  createdAt: number;
  expiresAt: number | null;
  revokedAt: number | null;
}

export interface SecretRow {
  digest: string;
  /** Its first characters. */
  prefix: string;
}

export interface StoredKey extends KeyRow, SecretRow {
  disabled: boolean;
  lastUsedAt: number | null;
  /** When this secret of the key ends; the key may have a newer one. */
  secretExpiresAt: number | null;
}

/** What `readKeys` would tell apart; cheap to ask for. */
export const keysVersion = reading<object, number>('state', async (transaction) => {
  const rows = await transaction.all("SELECT value FROM version WHERE subject = 'keys'");
  return Number(rows[0]?.value ?? 0);
});

/** Every secret with its key, oldest first. */
export const readKeys = reading<object, StoredKey[]>('state', async (transaction) => {
  const rows = await transaction.all(
    `SELECT k.id, k.name, k.settings, k.created_at, k.expires_at, k.revoked_at, k.disabled, k.last_used_at,
       s.digest, s.prefix, s.expires_at AS secret_expires_at
     FROM api_key k JOIN api_key_secret s ON s.key_id = k.id ORDER BY k.created_at, k.id, s.created_at`,
  );
  return rows.map(storedKey);
});

/** Throws `invalid_request` when an active key has the name. */
export const createKey = writing<{ key: KeyRow; secret: SecretRow; now: number }, void>(
  'state',
  async (transaction, { key, secret, now }) => {
    await changeKeys(transaction);
    const sql = `SELECT id FROM api_key WHERE name = :name AND revoked_at IS NULL AND disabled = 0
      AND (expires_at IS NULL OR expires_at > :now)`;
    if ((await transaction.all(sql, { name: key.name, now })).length > 0) {
      throw new GatewayError(
        'invalid_request',
        `There is already a key named "${key.name}"; revoke it or choose another name.`,
      );
    }
    await addKey(transaction, key, secret);
  },
);

/** Does nothing to a key that is revoked. */
export const revokeKey = writing<{ id: string; now: number }, void>('state', async (transaction, { id, now }) => {
  await changeKeys(transaction);
  await transaction.run('UPDATE api_key SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL', { id, now });
});

/** Adds those that are not there yet, whatever their names. */
export const importKeys = writing<{ keys: { key: KeyRow; secret: SecretRow }[] }, void>(
  'state',
  async (transaction, { keys }) => {
    await changeKeys(transaction);
    for (const { key, secret } of keys) await addKey(transaction, key, secret);
  },
);

/** Notes when keys were last used; not a change that anybody has to learn of. */
export const noteKeyUse = writing<{ uses: { id: string; at: number }[] }, void>(
  'state',
  async (transaction, { uses }) => {
    // In one order everywhere, so that two gateways don't wait for each other.
    for (const { id, at } of uses.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const sql =
        'UPDATE api_key SET last_used_at = :at WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :at)';
      await transaction.run(sql, { id, at });
    }
  },
);

/** First in every change: it tells caches, and makes changes of other gateways wait for the end of this one. */
async function changeKeys(transaction: Transaction): Promise<void> {
  await transaction.run(
    `INSERT INTO version (subject, value) VALUES ('keys', 1)
     ON CONFLICT (subject) DO UPDATE SET value = version.value + 1`,
  );
}

async function addKey(transaction: Transaction, key: KeyRow, { digest, prefix }: SecretRow): Promise<void> {
  const { id, name, settings, createdAt, expiresAt, revokedAt } = key;
  const row = { id, name, settings, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt };
  await transaction.insert('api_key', [row], { ignoreDuplicates: true });
  const secret = { digest, key_id: id, prefix, created_at: createdAt };
  await transaction.insert('api_key_secret', [secret], { ignoreDuplicates: true });
}

function storedKey(row: Row): StoredKey {
  return {
    id: String(row.id),
    name: String(row.name),
    settings: String(row.settings),
    createdAt: Number(row.created_at),
    expiresAt: moment(row.expires_at),
    revokedAt: moment(row.revoked_at),
    disabled: row.disabled === 1,
    lastUsedAt: moment(row.last_used_at),
    digest: String(row.digest),
    prefix: String(row.prefix),
    secretExpiresAt: moment(row.secret_expires_at),
  };
}

function moment(value: Row[string] | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
