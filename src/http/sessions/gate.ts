/** Gate of sessions: whose session a request has, and whether its role may call the route. */

import { GatewayError } from '../../core/errors.ts';
import type { Fields } from '../../core/fields.ts';
import type { ServerRequest } from '../../http1/server-request.ts';
import { stateOf } from '../../keys/key.ts';
import type { Key, KeyStore } from '../../keys/store.ts';
import { hasCookie, readCookie } from './cookie.ts';
import { type GuardedRoute, mayCall } from './roles.ts';
import type { BrowserSession, Sessions } from './sessions.ts';
import { checkChange, checkReader, type FindSite } from './site.ts';

/** Header that names the key as which an operator calls a route for keys. */
const KEY_HEADER = 'x-polygate-key';

type Head = Pick<ServerRequest, 'headers' | 'method'>;

export interface SessionGate {
  findSite: FindSite;
  sessions: Sessions;
  /** Whether operators are served at this address. */
  servesOperators: boolean;
  /** Whether holders of keys are. */
  servesKeys: boolean;
  /** Session of a request, without a look at its route. Throws `permission_denied` for other origins. */
  find(request: Head): Promise<BrowserSession | undefined>;
  /** Session that may call a route; undefined without one. Throws `permission_denied`. */
  admit(request: Head, route: GuardedRoute): Promise<BrowserSession | undefined>;
  /** Session and its key for a route of keys. Throws `permission_denied`. */
  keyOf(request: Head, route: GuardedRoute): Promise<{ session: BrowserSession; key: Key } | undefined>;
}

export interface SessionGateOptions {
  sessions: Sessions;
  findSite: FindSite;
  servesOperators: boolean;
  servesKeys: boolean;
  keys: Pick<KeyStore, 'find' | 'names'>;
  /** Unix milliseconds. */
  now(): number;
}

export function createSessionGate(options: SessionGateOptions): SessionGate {
  const { sessions, findSite, servesOperators, servesKeys, keys, now } = options;

  async function find({ headers, method }: Head): Promise<BrowserSession | undefined> {
    if (!hasCookie(headers)) return undefined;
    const site = findSite(headers);
    const cookie = readCookie(headers, site);
    if (cookie === undefined) return undefined;
    if (method === 'GET' || method === 'HEAD') checkReader(headers, site);
    else checkChange(headers, site);
    const session = await sessions.find(cookie);
    return session && (session.role === 'key' ? servesKeys : servesOperators) ? session : undefined;
  }

  async function admit(request: Head, route: GuardedRoute): Promise<BrowserSession | undefined> {
    const session = await find(request);
    if (session && !mayCall(session.role, route)) {
      throw new GatewayError('permission_denied', `A session of the role ${session.role} may not do this.`);
    }
    return session;
  }

  async function keyOf(request: Head, route: GuardedRoute): ReturnType<SessionGate['keyOf']> {
    const session = await admit(request, route);
    return session && { session, key: session.key ?? (await namedKey(request.headers)) };
  }

  async function namedKey(headers: Fields): Promise<Key> {
    const id = headers[KEY_HEADER];
    if (typeof id !== 'string' || id === '')
      throw refusedKey('must name the key whose requests these are, by its hash');
    const key = await keys.find(id);
    if (key.id !== id) throw refusedKey('must be the hash of a key');
    if (stateOf(key, now()) !== 'active') throw refusedKey('names a key that is not active');
    return key;
  }

  return { findSite, sessions, servesOperators, servesKeys, find, admit, keyOf };
}

function refusedKey(message: string): GatewayError {
  return new GatewayError('permission_denied', `The header ${KEY_HEADER} ${message}.`, { param: KEY_HEADER });
}
