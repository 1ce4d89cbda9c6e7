/** Who may use the gateway: the keys of the store and of the configuration, looked up by digest. */

import { randomUUID } from 'node:crypto';
import { GatewayError } from '../core/errors.ts';
import type { KeySettings } from '../core/key-settings.ts';
import type { MaybePromise } from '../store/operation.ts';
import type { Store } from '../store/store.ts';
import { importJournal } from './import.ts';
import { digestOf, generateKey, type Key, keyOf, shownPrefix, stateOf } from './key.ts';
import { distinct, type FixedKey, fixedKeys, type KnownKey, storedKeys } from './known.ts';
import { createUses } from './uses.ts';

export type { Key } from './key.ts';
export type { FixedKey } from './known.ts';

/** Milliseconds between two looks at the store, and between two on behalf of unknown keys. */
const LOOK_INTERVAL = 1000;

export interface NewKey {
  name: string;
  /** What it may do; absent means everything. */
  settings?: KeySettings;
  /** Unix milliseconds. */
  expires?: number;
}

export interface KeyStore {
  /** The key if it is known and active: at once, but for a stranger, on whose behalf the store may be asked. */
  authenticate(presented: string): MaybePromise<Key | undefined>;
  /** `secret` is the key itself, which cannot be had again. Throws `invalid_request` when an active key has the name. */
  create(key: NewKey): Promise<{ key: Key; secret: string }>;
  /** Of the configuration first, then of the store, oldest first, revoked ones included. */
  list(): Promise<Key[]>;
  /** Throws `not_found`, or `invalid_request` where that cannot be done. */
  revoke(idOrName: string): Promise<Key>;
  /** Replaces the keys of the configuration. */
  configure(keys: readonly FixedKey[]): void;
  /** Takes up within a second what other processes do to the store, until `close`. */
  follow(): void;
  /** Writes down when keys were last used. */
  close(): Promise<void>;
}

export interface KeyStoreOptions {
  store: Store;
  /** Where earlier versions left their keys. */
  folder: string;
  configured: readonly FixedKey[];
  now?: () => number;
  /** Called when the store cannot be read while the keys are in use; the keys known so far stay. */
  onUnreadable?: (error: Error) => void;
}

export async function openKeyStore(options: KeyStoreOptions): Promise<KeyStore> {
  const { store, folder, configured, now = store.now, onUnreadable } = options;
  const uses = createUses(store);
  let fixed = fixedKeys(configured);
  let stored: ReturnType<typeof storedKeys> = new Map();
  let version: number | undefined;
  let lastLook = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function refresh(): Promise<void> {
    // In this order: what changes in between is seen the next time.
    const current = await store.call('keysVersion', {});
    if (current === version) return;
    stored = storedKeys(await store.call('readKeys', {}));
    version = current;
  }

  function look(): Promise<void> {
    looking ??= refresh()
      .catch((error) => onUnreadable?.(error))
      .finally(() => {
        looking = undefined;
      });
    return looking;
  }

  function admitted(known: KnownKey | undefined): Key | undefined {
    if (!known || now() >= known.until || stateOf(known.key, now()) !== 'active') return undefined;
    if (known.key.origin === 'store') uses.note(known.key.id, now());
    return known.key;
  }

  async function all(): Promise<Key[]> {
    await refresh();
    return [...distinct(fixed), ...distinct(stored)];
  }

  await importJournal(folder, store);
  await refresh();
  return {
    authenticate(presented) {
      const digest = digestOf(presented);
      const key = admitted(fixed.get(digest) ?? stored.get(digest));
      // What cannot be used takes the way of the unknown, so that nobody can tell them apart by time.
      if (key || (!looking && now() - lastLook < LOOK_INTERVAL)) return key;
      if (!looking) lastLook = now();
      return look().then(() => admitted(stored.get(digest)));
    },

    async create({ name, settings = {}, expires }) {
      if (distinct(fixed).some((key) => key.name === name && stateOf(key, now()) === 'active')) {
        throw new GatewayError('invalid_request', `The configuration has a key named "${name}"; choose another name.`);
      }
      const secret = generateKey();
      const facts = { id: randomUUID(), name, prefix: shownPrefix(secret), created: now(), expires, settings };
      const { id, created, prefix } = facts;
      const key = {
        id,
        name,
        settings: JSON.stringify(settings),
        createdAt: created,
        expiresAt: expires ?? null,
        revokedAt: null,
      };
      await store.call('createKey', { key, secret: { digest: digestOf(secret), prefix }, now: now() });
      await refresh();
      return { key: keyOf({ ...facts, origin: 'store' }), secret };
    },

    list: all,

    async revoke(idOrName) {
      const key = meant(idOrName, await all());
      if (key.revoked !== undefined) return key;
      const revoked = now();
      await store.call('revokeKey', { id: key.id, now: revoked });
      await refresh();
      return { ...key, revoked };
    },

    configure(keys) {
      fixed = fixedKeys(keys);
    },

    follow() {
      timer ??= setInterval(() => {
        void look();
        uses.write().catch((error) => onUnreadable?.(error));
      }, LOOK_INTERVAL).unref();
    },

    async close() {
      clearInterval(timer);
      await looking;
      await uses.write().catch((error) => onUnreadable?.(error));
    },
  };
}

/** By id, else by name: the one that is not revoked, where there is one. */
function meant(idOrName: string, keys: Key[]): Key {
  const byId = keys.filter((key) => key.id === idOrName);
  const byName = keys.filter((key) => key.name === idOrName);
  const found =
    byId.length > 0 ? byId : byName.some((key) => !key.revoked) ? byName.filter((key) => !key.revoked) : byName;
  const [key, another] = found;
  if (!key) throw new GatewayError('not_found', `There is no key with the id or name "${idOrName}".`);
  if (key.origin === 'configuration') {
    throw new GatewayError('invalid_request', `The key "${idOrName}" stands in the configuration; take it out there.`);
  }
  if (another) {
    const ids = found.map(({ id }) => id).join(', ');
    throw new GatewayError('invalid_request', `Several keys are named "${idOrName}"; give the id of one: ${ids}.`);
  }
  return key;
}
