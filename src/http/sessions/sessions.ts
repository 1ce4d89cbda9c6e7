/** Sessions of the dashboard: opened with a code, the admin token or a key; found by their cookie; ended by use or time. */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import { digestOf } from '../../keys/key.ts';
import type { Key, KeyStore } from '../../keys/store.ts';
import { isSameSecret, type Secret } from '../../security/secret.ts';
import type { Author } from '../../store/audit-rows.ts';
import type { SessionEnds, SessionRow } from '../../store/operations/dashboard.ts';
import type { Store } from '../../store/store.ts';
import { digestOfSecret, newSecret } from './login-code.ts';
import type { Role } from './roles.ts';

export interface BrowserSession {
  id: string;
  role: Role;
  /** Key of the session, for the role `key`. */
  key?: Key;
  /** Unix milliseconds. */
  openedAt: number;
  endsAt: number;
}

/** A text by which a session is opened. */
export type Login = { code: string } | { token: string } | { key: string };

export interface Opening {
  requestId: string;
  /** Throws the refusal of a key that may not be used here. */
  checkKey(key: Key): void;
}

export interface SessionsOptions {
  store: Pick<Store, 'call'>;
  keys: Pick<KeyStore, 'authenticate' | 'activeByDigest'>;
  /** The admin token, if there is one. */
  token: Secret | undefined;
  clock: Pick<Clock, 'now'>;
}

export interface Sessions {
  /** Undefined if the text is wrong or no longer valid. */
  open(login: Login, opening: Opening): Promise<{ session: BrowserSession; cookie: string } | undefined>;
  /** Session of a cookie; undefined if it has ended. */
  find(cookie: string): Promise<BrowserSession | undefined>;
  end(id: string, author: Author): Promise<void>;
}

const LIFETIME_MS = 7 * 24 * 3600 * 1000;
const IDLE_MS = 12 * 3600 * 1000;
/** A session that was opened so far ahead has no known age: the clock was set back since. A clock an hour off ends none. */
const MAX_AHEAD_MS = 12 * 3600 * 1000;
const TOUCH_INTERVAL_MS = 60_000;
const MAX_SESSIONS_PER_KEY = 20;

/** Times before which a session that was opened or seen last has ended, and after which none can have been opened. */
export function sessionEnds(now: number): SessionEnds {
  return { openedBefore: now - LIFETIME_MS, seenBefore: now - IDLE_MS, openedAfter: now + MAX_AHEAD_MS };
}

export function createSessions({ store, keys, token, clock: { now } }: SessionsOptions): Sessions {
  /** Returns the values that a login leaves in the row of its session; undefined for a wrong one. */
  async function proofOf(
    login: Login,
    cookie: string,
    checkKey: Opening['checkKey'],
  ): Promise<Partial<SessionRow> | undefined> {
    if ('code' in login) return { openedWith: 'code' };
    if ('token' in login) {
      if (!token || !isSameSecret(digestOfSecret(login.token), digestOfSecret(token.reveal()))) return undefined;
      return { openedWith: 'token', tokenProof: proofOfToken(cookie, token) };
    }
    const key = await keys.authenticate(login.key);
    if (!key) return undefined;
    checkKey(key);
    return { openedWith: 'key', role: 'key', keyId: key.id, keyDigest: digestOf(login.key) };
  }

  function sessionOf(row: SessionRow, cookie: string): BrowserSession | undefined {
    const { id, openedAt, seenAt, keyDigest, tokenProof } = row;
    const endsAt = Math.min(openedAt + LIFETIME_MS, seenAt + IDLE_MS);
    const moment = now();
    if (moment >= endsAt || openedAt > moment + MAX_AHEAD_MS) return undefined;
    if (tokenProof !== null && !(token && isSameSecret(tokenProof, proofOfToken(cookie, token)))) return undefined;
    const facts = { id, openedAt, endsAt };
    if (row.role !== 'key')
      return row.role === 'admin' || row.role === 'viewer' ? { ...facts, role: row.role } : undefined;
    const key = keyDigest === null ? undefined : keys.activeByDigest(keyDigest);
    return key && { ...facts, role: 'key', key };
  }

  return {
    async open(login, { requestId, checkKey }) {
      const cookie = newSecret();
      const proof = await proofOf(login, cookie, checkKey);
      if (!proof) return undefined;
      const moment = now();
      const session: SessionRow = {
        digest: digestOfSecret(cookie),
        id: randomUUID(),
        role: 'admin',
        openedWith: '',
        keyId: null,
        keyDigest: null,
        tokenProof: null,
        openedAt: moment,
        seenAt: moment,
        ...proof,
      };
      const role = await store.call('openSession', {
        ...sessionEnds(moment),
        session,
        perKey: MAX_SESSIONS_PER_KEY,
        ...('code' in login && { codeDigest: digestOfSecret(login.code) }),
        ...(session.role !== 'key' && { author: { actor: 'admin', requestId } }),
      });
      const opened = role === undefined ? undefined : sessionOf({ ...session, role }, cookie);
      return opened && { session: opened, cookie };
    },

    async find(cookie) {
      const row = await store.call('findSession', { digest: digestOfSecret(cookie) });
      const session = row && sessionOf(row, cookie);
      if (session && now() - row.seenAt >= TOUCH_INTERVAL_MS) {
        // A session that cannot be noted as seen goes on.
        store.call('touchSession', { digest: row.digest, now: now() }).catch(() => undefined);
      }
      return session;
    },

    async end(id, author) {
      await store.call('endSession', { id, author, now: now() });
    },
  };
}

/** Digest of the cookie and the token, so that the stored value cannot be used to guess the token. */
function proofOfToken(cookie: string, token: Secret): string {
  return digestOfSecret(`${cookie}\n${token.reveal()}`);
}
