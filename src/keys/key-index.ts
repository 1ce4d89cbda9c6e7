/** In-memory index of keys by digest, so that authentication needs no store call. */

import type { KeySettings } from '../records/key-settings.ts';
import type { Secret } from '../security/secret.ts';
import type { StoredKey } from '../store/operations/keys.ts';
import { digestOf, hasPrevious, type Key, keyOf, shownPrefix } from './key.ts';

/** A key defined in the configuration. */
export interface StaticKey {
  name: string;
  key: Secret;
  /** Permissions and limits; absent means unrestricted. */
  settings?: KeySettings;
  expires?: number;
}

export interface IndexedKey {
  key: Key;
  /** SHA-256 digest of the secret, in base64url. */
  digest: string;
  /** It is the secret before the current one. */
  isPrevious: boolean;
}

export function isValid({ key, isPrevious }: IndexedKey, now: number): boolean {
  return !isPrevious || hasPrevious(key, now);
}

export type KeyIndex = ReadonlyMap<string, IndexedKey>;

export function indexConfiguredKeys(keys: readonly StaticKey[]): KeyIndex {
  return new Map(
    keys.map(({ name, key, settings = {}, expires }) => {
      const text = key.reveal();
      const facts = { id: `config:${name}`, name, prefix: shownPrefix(text), settings, expires };
      const digest = digestOf(text);
      return [digest, { key: keyOf({ ...facts, origin: 'configuration' }), digest, isPrevious: false }];
    }),
  );
}

export interface StoredKeyIndex {
  byDigest: KeyIndex;
  /** Replaces all keys. */
  replace(rows: readonly StoredKey[]): void;
  /** Replaces the keys of these rows, which hold all of their secrets, and leaves the others. */
  merge(rows: readonly StoredKey[]): void;
}

export function createStoredKeyIndex(): StoredKeyIndex {
  const byDigest = new Map<string, IndexedKey>();
  const digests = new Map<string, string[]>();

  function merge(rows: readonly StoredKey[]): void {
    for (const [id, own] of Map.groupBy(rows, (row) => row.id)) {
      for (const digest of digests.get(id) ?? []) byDigest.delete(digest);
      const key = keyOfRows(own);
      for (const { digest, secretExpiresAt } of own)
        byDigest.set(digest, { key, digest, isPrevious: secretExpiresAt !== null });
      digests.set(
        id,
        own.map(({ digest }) => digest),
      );
    }
  }

  return {
    byDigest,
    merge,
    replace(rows) {
      byDigest.clear();
      digests.clear();
      merge(rows);
    },
  };
}

/** Whether the rows hold every change after a version, up to `to`; gateways of earlier versions leave no mark of theirs. */
export function areAllChanges(rows: readonly StoredKey[], after: number, to: number): boolean {
  const versions = new Set(rows.map(({ version }) => version).filter((version) => version <= to));
  return versions.size === to - after;
}

/** Oldest first. */
export function byAge(one: Key, other: Key): number {
  return (one.created ?? 0) - (other.created ?? 0) || (one.id < other.id ? -1 : 1);
}

/** Each key once, regardless of the number of its secrets. */
export function distinctKeys(known: KeyIndex): Key[] {
  return [...new Set([...known.values()].map(({ key }) => key))];
}

/** `rows`: the secrets of one key, the current one last. */
function keyOfRows(rows: readonly StoredKey[]): Key {
  const row = rows.at(-1) as StoredKey;
  const [before] = rows.slice(-2, -1);
  return keyOf({
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    origin: 'store',
    created: row.createdAt,
    updated: row.updatedAt,
    previousUntil: before?.secretExpiresAt ?? undefined,
    secretCreated: row.secretCreatedAt,
    expires: row.expiresAt ?? undefined,
    revoked: row.revokedAt ?? undefined,
    disabled: row.disabled || undefined,
    lastUsed: row.lastUsedAt ?? undefined,
    secretLastUsed: row.secretLastUsedAt ?? undefined,
    settings: JSON.parse(row.settings),
  });
}
