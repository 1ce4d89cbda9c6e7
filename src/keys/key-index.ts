/** In-memory index of keys by digest, so that authentication needs no store call. */

import type { KeySettings } from '../records/key-settings.ts';
import type { Secret } from '../security/secret.ts';
import type { StoredKey } from '../store/operations/keys.ts';
import { digestOf, type Key, keyOf, shownPrefix } from './key.ts';

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
  /** Expiry of this secret, in Unix milliseconds. */
  until: number;
}

export type KeyIndex = ReadonlyMap<string, IndexedKey>;

export function indexConfiguredKeys(keys: readonly StaticKey[]): KeyIndex {
  return new Map(
    keys.map(({ name, key, settings = {}, expires }) => {
      const text = key.reveal();
      const facts = { id: `config:${name}`, name, prefix: shownPrefix(text), settings, expires };
      return [digestOf(text), { key: keyOf({ ...facts, origin: 'configuration' }), until: Number.POSITIVE_INFINITY }];
    }),
  );
}

export function indexStoredKeys(rows: readonly StoredKey[]): KeyIndex {
  const secrets = Map.groupBy(rows, ({ id }) => id);
  const known = [...secrets.values()].flatMap((own) => {
    const key = keyOfRows(own);
    return own.map((row): [string, IndexedKey] => [
      row.digest,
      { key, until: row.secretExpiresAt ?? Number.POSITIVE_INFINITY },
    ]);
  });
  return new Map(known);
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
    expires: row.expiresAt ?? undefined,
    revoked: row.revokedAt ?? undefined,
    disabled: row.disabled || undefined,
    lastUsed: row.lastUsedAt ?? undefined,
    settings: JSON.parse(row.settings),
  });
}
