/** API keys and the digests of their secrets. */

import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { merged } from '../../core/json/merge.ts';
import { type Author, addAudit } from '../audit-rows.ts';
import {
  addKey,
  auditValues,
  type KeyRow,
  requireBoundedLabels,
  requireFreeName,
  type SecretRow,
} from '../key-rows.ts';
import { type Row, reading, type Transaction, writing } from '../operation.ts';
import { addSecret, type StoredSecret } from '../secret-rows.ts';
import { nextVersion, versionOf } from '../version-rows.ts';

export type { KeyRow, SecretRow } from '../key-rows.ts';

export interface StoredKey extends KeyRow, SecretRow {
  disabled: boolean;
  updatedAt: number;
  lastUsedAt: number | null;
  /** Last use of this secret. */
  secretLastUsedAt: number | null;
  secretCreatedAt: number;
  /** Expiry of this secret; the key may have a newer one. */
  secretExpiresAt: number | null;
  /** Version of the keys at the last change of this one. */
  version: number;
}

/** Author and time of a change. */
export interface AuditedChange {
  author: Author;
  now: number;
}

/** Version of the result of `readKeys`; cheap to read. */
export const keysVersion = reading<object, number>('state', (transaction) => versionOf(transaction, 'keys'));

/** Secrets of all keys, or of those that changed after a version, oldest key first; the current secret of a key last. */
export const readKeys = reading<{ after?: number }, StoredKey[]>('state', async (transaction, { after }) => {
  const rows = await transaction.all(
    `SELECT k.id, k.name, k.settings, k.created_at, k.updated_at, k.expires_at, k.revoked_at, k.disabled, k.last_used_at, k.version,
       s.digest, s.prefix, s.created_at AS secret_created_at, s.expires_at AS secret_expires_at,
       s.last_used_at AS secret_last_used_at
     FROM api_key k JOIN api_key_secret s ON s.key_id = k.id ${after === undefined ? '' : 'WHERE k.version > :after'}
     ORDER BY k.created_at, k.id, CASE WHEN s.expires_at IS NULL THEN 1 ELSE 0 END, s.created_at`,
    after === undefined ? {} : { after },
  );
  return rows.map(storedKey);
});

/** Last use of each key that was used, and that by its current secret, in Unix milliseconds. */
export const readKeyUses = reading<object, { id: string; at: number; bySecretAt: number | null }[]>(
  'state',
  async (transaction) => {
    const rows = await transaction.all(
      `SELECT k.id, k.last_used_at, s.last_used_at AS by_secret_at
       FROM api_key k LEFT JOIN api_key_secret s ON s.key_id = k.id AND s.expires_at IS NULL
       WHERE k.last_used_at IS NOT NULL`,
    );
    return rows.map(({ id, last_used_at: at, by_secret_at: bySecretAt }) => ({
      id: String(id),
      at: Number(at),
      bySecretAt: optionalNumber(bySecretAt),
    }));
  },
);

export interface StoredKeyCreation extends AuditedChange {
  key: KeyRow;
  secret: SecretRow;
  webhookSecret?: StoredSecret;
}

/** Throws `invalid_request` if an active key has the name. Key and webhook secret are stored atomically. */
export const createKey = writing<StoredKeyCreation, void>('state', async (transaction, creation) => {
  // First, so that changes of all gateways follow each other.
  const version = await nextVersion(transaction, 'keys');
  await requireFreeName(transaction, creation.key, creation.now);
  await storeKey(transaction, creation, version);
});

/** Stores all keys or none. Throws `invalid_request` naming the first that has the name of an active key. */
export const createKeys = writing<{ creations: StoredKeyCreation[] }, void>(
  'state',
  async (transaction, { creations }) => {
    const version = await nextVersion(transaction, 'keys');
    for (const [index, creation] of creations.entries()) {
      try {
        await requireFreeName(transaction, creation.key, creation.now);
        await storeKey(transaction, creation, version);
      } catch (error) {
        throw error instanceof GatewayError ? atIndex(error, index) : error;
      }
    }
  },
);

function atIndex({ code, message, param }: GatewayError, index: number): GatewayError {
  return new GatewayError(code, message, { param: `keys[${index}]${param === undefined ? '' : `.${param}`}` });
}

/** False if there is any key, in any state. */
export const createFirstKey = writing<StoredKeyCreation, boolean>('state', async (transaction, creation) => {
  const version = await nextVersion(transaction, 'keys');
  if ((await transaction.all('SELECT id FROM api_key LIMIT 1')).length > 0) return false;
  await storeKey(transaction, creation, version);
  return true;
});

async function storeKey(transaction: Transaction, creation: StoredKeyCreation, version: number): Promise<void> {
  const { key, secret, webhookSecret, author, now } = creation;
  requireBoundedLabels(key.settings);
  await addKey(transaction, { ...key, version }, secret);
  if (webhookSecret) await addSecret(transaction, webhookSecret);
  const after = { ...auditValues(key), prefix: secret.prefix };
  await addAudit(transaction, { author, at: now, action: 'key.create', subject: key.id, after });
}

/** Absent fields stay unchanged. */
export interface KeyPatch {
  name?: string;
  disabled?: boolean;
  /** Unix milliseconds; null for no expiry. */
  expiresAt?: number | null;
  /** Unix milliseconds of the last change of the key that the author of this one knows; absent if it does not matter. */
  unchangedSince?: number;
  /** Merged into the settings; null removes a member. */
  settings?: Json;
}

/** No two changes of a key have the same time, and none an earlier one than the last: `unchangedSince` tells them apart. */
const CHANGED_AT = 'CASE WHEN updated_at < :now THEN :now ELSE updated_at + 1 END';

/** Throws `not_found`, `changed_meanwhile`, and `invalid_request` for a key that is revoked or a name that another active key has. A patch that changes nothing is not audited. */
export const updateKey = writing<AuditedChange & { id: string; patch: KeyPatch }, void>(
  'state',
  async (transaction, { id, patch, author, now }) => {
    const version = await nextVersion(transaction, 'keys');
    const before = await unrevokedKey(transaction, id);
    if (patch.unchangedSince !== undefined && patch.unchangedSince !== before.updatedAt)
      throw new GatewayError('changed_meanwhile', `The key "${before.name}" was changed by somebody else meanwhile.`);
    const after = {
      ...before,
      name: patch.name ?? before.name,
      disabled: patch.disabled ?? before.disabled,
      expiresAt: patch.expiresAt === undefined ? before.expiresAt : patch.expiresAt,
      settings: patch.settings ? patchedSettings(before.settings, patch.settings) : before.settings,
    };
    const values = { before: auditValues(before), after: auditValues(after) };
    if (isDeepStrictEqual(values.before, values.after)) return;
    requireBoundedLabels(after.settings);
    await requireFreeName(transaction, after, now);
    const { name, settings, expiresAt } = after;
    await transaction.run(
      `UPDATE api_key SET name = :name, disabled = :disabled, expires_at = :expiresAt, settings = :settings,
         updated_at = ${CHANGED_AT}, version = :version WHERE id = :id`,
      { id, name, disabled: Number(after.disabled), expiresAt, settings, now, version },
    );
    const entry = { author, at: now, action: 'key.update', subject: id };
    await addAudit(transaction, { ...entry, ...values });
  },
);

/** Merges a patch into the text of settings. A patch that only removes fields that are not set adds no empty member. */
function patchedSettings(before: string, patch: Json): string {
  const settings: Json = JSON.parse(before);
  const after = Object.entries<Json>(merged(settings, patch)).filter(
    ([name, value]) => Object.hasOwn(settings, name) || !isObject(value) || Object.keys(value).length > 0,
  );
  return JSON.stringify(Object.fromEntries(after));
}

/** Adds a new secret to a key; earlier ones expire at `until`. Throws `not_found`, and `invalid_request` for a revoked key. */
export const rotateKey = writing<AuditedChange & { id: string; secret: SecretRow; until: number }, void>(
  'state',
  async (transaction, { id, secret, until, author, now }) => {
    const version = await nextVersion(transaction, 'keys');
    await unrevokedKey(transaction, id);
    // Only the latest of the earlier secrets stays valid: a key has at most two.
    await transaction.run('DELETE FROM api_key_secret WHERE key_id = :id AND expires_at IS NOT NULL', { id });
    if (until <= now) await transaction.run('DELETE FROM api_key_secret WHERE key_id = :id', { id });
    await transaction.run('UPDATE api_key_secret SET expires_at = :until WHERE key_id = :id', { id, until });
    const row = { digest: secret.digest, key_id: id, prefix: secret.prefix, created_at: now };
    await transaction.insert('api_key_secret', [row]);
    const sql = `UPDATE api_key SET updated_at = ${CHANGED_AT}, version = :version WHERE id = :id`;
    await transaction.run(sql, { id, now, version });
    const after = { prefix: secret.prefix, previous_until: until };
    await addAudit(transaction, { author, at: now, action: 'key.rotate', subject: id, after });
  },
);

/** Does nothing if the key is already revoked. */
export const revokeKey = writing<AuditedChange & { id: string }, void>(
  'state',
  async (transaction, { id, author, now }) => {
    const version = await nextVersion(transaction, 'keys');
    const sql = `UPDATE api_key SET revoked_at = :now, updated_at = ${CHANGED_AT}, version = :version
      WHERE id = :id AND revoked_at IS NULL`;
    if ((await transaction.run(sql, { id, now, version })) === 0) return;
    // Nobody can read them any more.
    await transaction.run('DELETE FROM saved_view WHERE owner = :id', { id });
    const after = { revoked_at: now };
    await addAudit(transaction, { author, at: now, action: 'key.revoke', subject: id, after });
  },
);

/** Inserts new keys, without checking their names. */
export const importKeys = writing<AuditedChange & { keys: { key: KeyRow; secret: SecretRow }[] }, void>(
  'state',
  async (transaction, { keys, author, now }) => {
    const version = await nextVersion(transaction, 'keys');
    for (const { key, secret } of keys) {
      if (!(await addKey(transaction, { ...key, version }, secret))) continue;
      const entry = { author, at: now, action: 'key.import', subject: key.id };
      await addAudit(transaction, { ...entry, after: auditValues(key) });
    }
  },
);

/** Use of a key by one of its secrets. */
export interface SecretUse {
  id: string;
  digest: string;
  /** Unix milliseconds. */
  at: number;
}

/** Updates the last use of keys and secrets, without invalidating caches. */
export const recordKeyUse = writing<{ uses: SecretUse[] }, void>('state', async (transaction, { uses }) => {
  const isLater = '(last_used_at IS NULL OR last_used_at < :at)';
  // Always in the same order, so that concurrent gateways cannot deadlock.
  for (const { id, digest, at } of uses.toSorted((a, b) => (a.id + a.digest < b.id + b.digest ? -1 : 1))) {
    await transaction.run(`UPDATE api_key SET last_used_at = :at WHERE id = :id AND ${isLater}`, { id, at });
    const ofSecret = `UPDATE api_key_secret SET last_used_at = :at WHERE digest = :digest AND ${isLater}`;
    await transaction.run(ofSecret, { digest, at });
  }
});

type UnrevokedKey = KeyRow & { disabled: boolean; updatedAt: number };

async function unrevokedKey(transaction: Transaction, id: string): Promise<UnrevokedKey> {
  const [row] = await transaction.all('SELECT * FROM api_key WHERE id = :id', { id });
  if (!row) throw new GatewayError('not_found', `There is no key with the id "${id}".`);
  if (row.revoked_at !== null) {
    throw new GatewayError('invalid_request', `The key "${row.name}" is revoked for good; make a new one.`);
  }
  return {
    id,
    name: String(row.name),
    settings: String(row.settings),
    disabled: row.disabled === 1,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    expiresAt: optionalNumber(row.expires_at),
    revokedAt: null,
  };
}

function storedKey(row: Row): StoredKey {
  return {
    id: String(row.id),
    name: String(row.name),
    settings: String(row.settings),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    expiresAt: optionalNumber(row.expires_at),
    revokedAt: optionalNumber(row.revoked_at),
    disabled: row.disabled === 1,
    lastUsedAt: optionalNumber(row.last_used_at),
    digest: String(row.digest),
    prefix: String(row.prefix),
    secretLastUsedAt: optionalNumber(row.secret_last_used_at),
    secretCreatedAt: Number(row.secret_created_at),
    secretExpiresAt: optionalNumber(row.secret_expires_at),
    version: Number(row.version),
  };
}

function optionalNumber(value: Row[string] | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}
