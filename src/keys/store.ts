/** Key store: authentication and management of stored and configured keys. */

import { randomUUID } from 'node:crypto';
import { type Clock, every, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { KeySettings } from '../records/key-settings.ts';
import type { Author } from '../store/audit-rows.ts';
import type { MaybePromise } from '../store/operation.ts';
import type { KeyPatch, SecretRow } from '../store/operations/keys.ts';
import type { StoredSecret } from '../store/secret-rows.ts';
import type { Store } from '../store/store.ts';
import { importJournal } from './import-journal.ts';
import { digestOf, generateKey, type Key, type PresentedKey, presentedKey, shownPrefix, stateOf } from './key.ts';
import {
  areAllChanges,
  byAge,
  createStoredKeyIndex,
  distinctKeys,
  type IndexedKey,
  indexConfiguredKeys,
  isValid,
  type StaticKey,
} from './key-index.ts';
import { createLastUsedTracker } from './last-used.ts';

export type { KeyPatch } from '../store/operations/keys.ts';
export type { Key } from './key.ts';
export type { StaticKey } from './key-index.ts';

/** Interval of refreshes from the store, and minimum interval of refreshes for unknown keys. */
const REFRESH_INTERVAL_MS = 1000;
/** Default time for which the previous secret stays valid after a rotation. */
const DEFAULT_OVERLAP_MS = 24 * 3600 * 1000;
const FIRST_KEY_NAME = 'first';
const GATEWAY_AUTHOR: Author = { actor: 'gateway' };

export interface NewKey {
  name: string;
  /** Permissions and limits; absent means unrestricted. */
  settings?: KeySettings;
  /** Unix milliseconds. */
  expires?: number;
}

export interface CreatedKey {
  key: Key;
  /** The key text, which cannot be retrieved again. */
  secret: string;
  /** Signing secret of its webhooks. */
  webhookSecret?: string;
}

export interface KeyStore {
  /** Whether there is no key at all, active or not, as far as is known. */
  isEmpty(): boolean;
  /** Returns the key if it is known and active: synchronously, except for unknown keys, which may refresh from the store. */
  authenticate(presented: PresentedKey | string): MaybePromise<Key | undefined>;
  /** Active key of a digest, as far as is known. */
  activeByDigest(digest: string): Key | undefined;
  /** Throws `invalid_request` if an active key has the name. */
  create(key: NewKey, author?: Author): Promise<CreatedKey>;
  /** Creates all of them or none. Throws like `create`, with `keys[<index>].name` as the parameter. */
  createAll(keys: readonly NewKey[], author?: Author): Promise<CreatedKey[]>;
  /**
   * Creates the key `first` of a store without keys, with a text of its own or a given one. Returns undefined if there is a
   * key by then, such as that of another gateway.
   */
  createFirst(settings?: KeySettings, text?: string): Promise<CreatedKey | undefined>;
  /** Throws `not_found`, or `invalid_request` if the key cannot be changed. */
  update(idOrName: string, patch: KeyPatch, author?: Author): Promise<Key>;
  /** Creates a new secret; the previous one stays valid for `overlap` milliseconds. Throws like `update`. */
  rotate(idOrName: string, overlap?: number, author?: Author): Promise<{ key: Key; secret: string }>;
  /** Throws like `update`. */
  find(idOrName: string): Promise<Key>;
  /** Key of a key text, whether or not it is active; undefined for a previous secret that has expired. */
  identify(secret: string): Promise<Key | undefined>;
  /** Configured keys, then stored keys, oldest first, including revoked ones. */
  list(): Promise<Key[]>;
  /** Names of all keys by their ids. */
  names(): Promise<ReadonlyMap<string, string>>;
  /** Throws like `update`. */
  revoke(idOrName: string, author?: Author): Promise<Key>;
  /** Replaces the keys of the configuration. */
  configure(keys: readonly StaticKey[]): void;
  /** Picks up changes of other processes within a second, until `close`. */
  startRefreshing(): void;
  /** Writes the last use of keys. */
  close(): Promise<void>;
}

export interface KeyStoreOptions {
  store: Store;
  /** Folder of the key journal of earlier versions. */
  folder: string;
  configured: readonly StaticKey[];
  /** Source of the configured keys, for messages; the configuration if absent. */
  origin?: string | undefined;
  now?: () => number;
  /** Timer of the refresh. */
  clock?: Pick<Clock, 'after'>;
  /** Creates the webhook secret of a new key, to be stored with it; if absent, it is created on first use. */
  newWebhookSecret?(owner: string): Promise<{ secret: string; stored: StoredSecret }>;
  /** Called if a refresh fails; the known keys stay valid. */
  onUnreadable?: (error: Error) => void;
}

export async function openKeyStore(options: KeyStoreOptions): Promise<KeyStore> {
  const { store, folder, configured, origin = 'the configuration', now = store.now, clock = systemClock } = options;
  const { newWebhookSecret, onUnreadable } = options;
  const lastUsed = createLastUsedTracker(store);
  let configuredIndex = indexConfiguredKeys(configured);
  const stored = createStoredKeyIndex();
  let version: number | undefined;
  let lastLookupAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  let stopRefreshing: (() => void) | undefined;

  async function refresh(): Promise<void> {
    // Version before keys: a change in between is seen by the next refresh.
    const currentVersion = await store.call('keysVersion', {});
    if (currentVersion === version) return;
    const known = version;
    const changed = known === undefined ? [] : await store.call('readKeys', { after: known });
    if (known !== undefined && areAllChanges(changed, known, currentVersion)) stored.merge(changed);
    else stored.replace(await store.call('readKeys', {}));
    version = currentVersion;
  }

  function refreshQuietly(): Promise<void> {
    refreshing ??= refresh()
      .catch((error) => onUnreadable?.(error))
      .finally(() => {
        refreshing = undefined;
      });
    return refreshing;
  }

  function activeKey(known: IndexedKey | undefined): Key | undefined {
    if (!known || !isValid(known, now()) || stateOf(known.key, now()) !== 'active') return undefined;
    if (known.key.origin === 'store') lastUsed.record({ id: known.key.id, digest: known.digest }, now());
    return known.key;
  }

  async function allKeys(): Promise<Key[]> {
    await refresh();
    return [...distinctKeys(configuredIndex), ...distinctKeys(stored.byDigest).sort(byAge)];
  }

  /** Throws `set_in_configuration` for a key of the configuration. */
  async function changeableKey(idOrName: string): Promise<Key> {
    const key = resolveKey(idOrName, await allKeys());
    if (key.origin === 'store') return key;
    throw new GatewayError('set_in_configuration', `The key "${idOrName}" is set in ${origin}; change it there.`);
  }

  function requireFreeConfiguredName(name: string, param = 'name'): void {
    if (!distinctKeys(configuredIndex).some((key) => key.name === name && stateOf(key, now()) === 'active')) return;
    throw new GatewayError('invalid_request', `The configuration has a key named "${name}"; choose another name.`, {
      param,
    });
  }

  /** The key after a change. */
  async function keyAfterChange(id: string): Promise<Key> {
    await refresh();
    return resolveKey(id, distinctKeys(stored.byDigest));
  }

  async function prepareKey({ name, settings = {}, expires }: NewKey, author: Author, text: string) {
    const id = randomUUID();
    const moment = now();
    const moments = { createdAt: moment, expiresAt: expires ?? null, revokedAt: null };
    const key = { id, name, settings: JSON.stringify(settings), ...moments };
    const webhook = await newWebhookSecret?.(id);
    const creation = { key, secret: secretOf(text), webhookSecret: webhook?.stored, author, now: moment };
    const created = (stored: Key): CreatedKey => ({
      key: stored,
      secret: text,
      ...(webhook && { webhookSecret: webhook.secret }),
    });
    return { creation, created };
  }

  await importJournal(folder, store);
  await refresh();
  return {
    isEmpty: () => configuredIndex.size === 0 && stored.byDigest.size === 0,

    authenticate(presented) {
      const { digest } = typeof presented === 'string' ? presentedKey(presented) : presented;
      if (digest === undefined) return undefined;
      const key = activeKey(configuredIndex.get(digest) ?? stored.byDigest.get(digest));
      // Inactive keys take the same path as unknown keys, so that timing does not tell them apart.
      if (key || (!refreshing && Math.abs(now() - lastLookupAt) < REFRESH_INTERVAL_MS)) return key;
      if (!refreshing) lastLookupAt = now();
      return refreshQuietly().then(() => activeKey(stored.byDigest.get(digest)));
    },

    activeByDigest: (digest) => activeKey(configuredIndex.get(digest) ?? stored.byDigest.get(digest)),

    async create({ name, settings = {}, expires }, author = GATEWAY_AUTHOR) {
      requireFreeConfiguredName(name);
      const { creation, created } = await prepareKey({ name, settings, expires }, author, generateKey());
      await store.call('createKey', creation);
      return created(await keyAfterChange(creation.key.id));
    },

    async createAll(wanted, author = GATEWAY_AUTHOR) {
      for (const [index, { name }] of wanted.entries()) requireFreeConfiguredName(name, `keys[${index}].name`);
      const prepared: Awaited<ReturnType<typeof prepareKey>>[] = [];
      for (const key of wanted) prepared.push(await prepareKey(key, author, generateKey()));
      await store.call('createKeys', { creations: prepared.map(({ creation }) => creation) });
      await refresh();
      const known = new Map(distinctKeys(stored.byDigest).map((key) => [key.id, key]));
      return prepared.map(({ creation, created }) => created(known.get(creation.key.id) as Key));
    },

    async createFirst(settings = {}, text = generateKey()) {
      const { creation, created } = await prepareKey({ name: FIRST_KEY_NAME, settings }, GATEWAY_AUTHOR, text);
      if (!(await store.call('createFirstKey', creation))) return undefined;
      return created(await keyAfterChange(creation.key.id));
    },

    async update(idOrName, patch, author = GATEWAY_AUTHOR) {
      const { id } = await changeableKey(idOrName);
      if (patch.name !== undefined) requireFreeConfiguredName(patch.name);
      await store.call('updateKey', { id, patch, author, now: now() });
      return keyAfterChange(id);
    },

    async rotate(idOrName, overlap = DEFAULT_OVERLAP_MS, author = GATEWAY_AUTHOR) {
      const { id } = await changeableKey(idOrName);
      const text = generateKey();
      const moment = now();
      await store.call('rotateKey', { id, secret: secretOf(text), until: moment + overlap, author, now: moment });
      return { key: await keyAfterChange(id), secret: text };
    },

    async revoke(idOrName, author = GATEWAY_AUTHOR) {
      const { id } = await changeableKey(idOrName);
      await store.call('revokeKey', { id, author, now: now() });
      return keyAfterChange(id);
    },

    async list() {
      const uses = new Map((await store.call('readKeyUses', {})).map((use) => [use.id, use]));
      const withLastUse = (key: Key): Key => {
        const use = uses.get(key.id);
        return use ? { ...key, lastUsed: use.at, secretLastUsed: use.bySecretAt ?? undefined } : key;
      };
      return (await allKeys()).map(withLastUse);
    },
    names: async () => new Map((await allKeys()).map(({ id, name }) => [id, name])),
    find: async (idOrName) => resolveKey(idOrName, await allKeys()),

    async identify(secret) {
      await refresh();
      const digest = digestOf(secret);
      const known = configuredIndex.get(digest) ?? stored.byDigest.get(digest);
      return known && isValid(known, now()) ? known.key : undefined;
    },

    configure(keys) {
      configuredIndex = indexConfiguredKeys(keys);
    },

    startRefreshing() {
      stopRefreshing ??= every(clock, REFRESH_INTERVAL_MS, () => {
        void refreshQuietly();
        lastUsed.flush().catch((error) => onUnreadable?.(error));
      });
    },

    async close() {
      stopRefreshing?.();
      await refreshing;
      await lastUsed.flush().catch((error) => onUnreadable?.(error));
    },
  };
}

function secretOf(text: string): SecretRow {
  return { digest: digestOf(text), prefix: shownPrefix(text) };
}

/** Finds a key by id, else by name; a key that is not revoked takes precedence. */
function resolveKey(idOrName: string, keys: Key[]): Key {
  const byId = keys.filter((key) => key.id === idOrName);
  const byName = keys.filter((key) => key.name === idOrName);
  const found =
    byId.length > 0 ? byId : byName.some((key) => !key.revoked) ? byName.filter((key) => !key.revoked) : byName;
  const [key, another] = found;
  if (!key) throw new GatewayError('not_found', `There is no key with the id or name "${idOrName}".`);
  if (another) {
    const ids = found.map(({ id }) => id).join(', ');
    throw new GatewayError('invalid_request', `Several keys are named "${idOrName}"; give the id of one: ${ids}.`);
  }
  return key;
}
