/** Who may use the gateway: the keys of the store and of the configuration, looked up by digest. */

import { randomUUID } from 'node:crypto';
import { type FSWatcher, mkdirSync, watch } from 'node:fs';
import { GatewayError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import { JOURNAL_FILE, type KeyEvent, openJournal } from './journal.ts';
import { digestOf, generateKey, type Key, keyOf, shownPrefix, stateOf } from './key.ts';

export type { Key } from './key.ts';

/** Milliseconds between two looks at the file on behalf of unknown keys. */
const LOOK_INTERVAL = 1000;
/** Milliseconds to let a burst of file events pass. */
const SETTLE = 50;

/** A key that stands in the configuration. */
export interface FixedKey {
  name: string;
  key: Secret;
  models?: string[];
  expires?: number;
}

export interface NewKey {
  name: string;
  models?: string[];
  /** Unix milliseconds. */
  expires?: number;
}

export interface KeyStore {
  /** The key if it is known and neither expired nor revoked. */
  authenticate(presented: string): Key | undefined;
  /** `secret` is the key itself, which cannot be had again. Throws `invalid_request` when an active key has the name. */
  create(key: NewKey): { key: Key; secret: string };
  /** Of the configuration first, then of the store, oldest first, revoked ones included. */
  list(): Key[];
  /** Throws `not_found`, or `invalid_request` where that cannot be done. */
  revoke(idOrName: string): Key;
  /** Replaces the keys of the configuration. */
  configure(keys: readonly FixedKey[]): void;
  /** Takes up at once what other processes do to the file, until `close`. */
  follow(): void;
  close(): void;
}

export interface KeyStoreOptions {
  folder: string;
  configured: readonly FixedKey[];
  now?: () => number;
  /** Called when the file cannot be read while the store is in use; the keys known so far stay. */
  onUnreadable?: (error: Error) => void;
}

export function openKeyStore({ folder, configured, now = Date.now, onUnreadable }: KeyStoreOptions): KeyStore {
  const journal = openJournal(folder);
  let fixed = fixedKeys(configured);
  let stored = new Map<string, Key>();
  let version: string | undefined;
  let lastLook = Number.NEGATIVE_INFINITY;
  let watcher: FSWatcher | undefined;
  let settling: NodeJS.Timeout | undefined;

  function refresh(): void {
    const current = journal.version();
    if (current === version) return;
    stored = replay(journal.read());
    version = current;
  }

  function refreshInUse(): void {
    try {
      refresh();
    } catch (error) {
      onUnreadable?.(error as Error);
    }
  }

  function find(presented: string): Key | undefined {
    const digest = digestOf(presented);
    const known = fixed.get(digest) ?? stored.get(digest);
    if (known || now() - lastLook < LOOK_INTERVAL) return known;
    lastLook = now();
    refreshInUse();
    return stored.get(digest);
  }

  function all(): Key[] {
    refresh();
    return [...fixed.values(), ...stored.values()];
  }

  refresh();
  return {
    authenticate(presented) {
      const key = find(presented);
      return key && stateOf(key, now()) === 'active' ? key : undefined;
    },

    create({ name, models, expires }) {
      if (all().some((key) => key.name === name && stateOf(key, now()) === 'active')) {
        throw new GatewayError(
          'invalid_request',
          `There is already a key named "${name}"; revoke it or choose another name.`,
        );
      }
      const secret = generateKey();
      const id = randomUUID();
      const facts = { id, name, prefix: shownPrefix(secret), created: now(), expires, models };
      journal.append({ event: 'create', ...facts, digest: digestOf(secret) });
      refresh();
      return { key: keyOf({ ...facts, origin: 'store' }), secret };
    },

    list: all,

    revoke(idOrName) {
      const key = meant(idOrName, all());
      if (key.revoked !== undefined) return key;
      journal.append({ event: 'revoke', id: key.id, revoked: now() });
      refresh();
      return { ...key, revoked: now() };
    },

    configure(keys) {
      fixed = fixedKeys(keys);
    },

    follow() {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      watcher ??= watch(folder, { persistent: false }, (_event, file) => {
        if (file !== null && file !== JOURNAL_FILE) return;
        clearTimeout(settling);
        settling = setTimeout(refreshInUse, SETTLE).unref();
      }).on('error', (error) => onUnreadable?.(error));
      refreshInUse();
    },

    close() {
      clearTimeout(settling);
      watcher?.close();
    },
  };
}

function fixedKeys(keys: readonly FixedKey[]): Map<string, Key> {
  return new Map(
    keys.map(({ name, key, models, expires }) => {
      const text = key.reveal();
      const facts = { id: name, name, prefix: shownPrefix(text), models, expires };
      return [digestOf(text), keyOf({ ...facts, origin: 'configuration' })];
    }),
  );
}

/** Keys by digest, in order of their creation. */
function replay(events: KeyEvent[]): Map<string, Key> {
  const keys = new Map<string, Key>();
  const byId = new Map<string, Key>();
  for (const event of events) {
    switch (event.event) {
      case 'create': {
        const { id, name, prefix, created, expires, models } = event;
        const key = keyOf({ id, name, prefix, created, expires, models, origin: 'store' });
        keys.set(event.digest, key);
        byId.set(id, key);
        break;
      }
      case 'revoke': {
        const key = byId.get(event.id);
        if (key) key.revoked ??= event.revoked;
        break;
      }
    }
  }
  return keys;
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
