/** Authentication by the request head; the body of an unauthenticated request is never read. */

import type { Socket } from 'node:net';
import { type Clock, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { bearerToken } from '../core/fields.ts';
import { ownText } from '../core/own-bytes.ts';
import { type PresentedKey, presentedKey } from '../keys/key.ts';
import { type Access, checkAccess } from '../keys/scopes.ts';
import type { Key, KeyStore } from '../keys/store.ts';
import type { MaybePromise } from '../store/operation.ts';
import { createClientAddress, networkOf } from './client-address.ts';
import { type CreateSharedRate, createRate } from './rate.ts';
import type { RequestContext } from './request-context.ts';
import { hasCookie } from './sessions/cookie.ts';
import type { SessionGate } from './sessions/gate.ts';

export interface AuthenticationOptions {
  keys: Pick<KeyStore, 'authenticate' | 'isEmpty'>;
  /** Address ranges of proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies?: readonly string[];
  clock?: Clock;
  /** Makes the rate of wrong keys; that of this process alone if absent. */
  createRate?: CreateSharedRate;
  /** Gate of sessions, which stand for a key where none is presented. */
  gate?: Pick<SessionGate, 'keyOf'> | undefined;
}

/**
 * Notes the session where that is the credential. Throws `invalid_api_key`, `permission_denied`, `rate_limit_exceeded` after too many wrong keys, and `invalid_request`
 * for invalid protocol headers.
 */
export type Authenticate = (
  context: Pick<RequestContext, 'protocol' | 'request' | 'query' | 'session'>,
  access: Omit<Access, 'address'>,
) => Promise<Key> | Key;

/** Headers in which clients of other gateways, LiteLLM and Portkey, send the gateway's key: with `Bearer ` or without. */
const OTHER_GATEWAYS = ['x-litellm-api-key', 'x-portkey-api-key'];

/** Wrong keys allowed per client address: burst, and number per minute. */
const MAX_WRONG_KEYS = 30;

/** All protocols take this header. */
const KEY_REQUIRED = 'An API key is required: send the header "Authorization: Bearer KEY".';

export function createAuthentication({
  keys,
  trustedProxies = [],
  clock = systemClock,
  createRate: createSharedRate = (_name, rate) => createRate(rate),
  gate,
}: AuthenticationOptions): Authenticate {
  const addressOf = createClientAddress(trustedProxies);
  const rate = { rate: MAX_WRONG_KEYS / 60, burst: MAX_WRONG_KEYS, now: clock.monotonic };
  const wrongKey = createSharedRate('wrong keys', rate);

  return (context, access) => {
    const { protocol, request, query } = context;
    const presented = new Set(protocol.credentials(request.headers, query));
    for (const name of OTHER_GATEWAYS) {
      const text = String(request.headers[name] ?? '').trim();
      if (text !== '') presented.add(bearerToken(text) ?? text);
    }
    const [credential] = presented;
    if (credential === undefined) {
      const error = keys.isEmpty() ? noKeyYet() : new GatewayError('invalid_api_key', KEY_REQUIRED);
      // Pages of other sites can open WebSockets, so that the cookie does not open one.
      if (!gate || request.headers.upgrade !== undefined || !hasCookie(request.headers)) throw error;
      const { changes } = access;
      return gate.keyOf(request, { access: 'key', changes }).then((found) => {
        if (!found) throw error;
        context.session = found.session;
        return checked(found.key);
      });
    }
    if (presented.size > 1) {
      throw new GatewayError('invalid_api_key', 'Several API keys that differ are presented; send one.');
    }
    function checked(key: Key | undefined): Promise<Key> | Key {
      const address = addressOf(request);
      if (!key) return refuse(wrongKey(networkOf(address)), keys.isEmpty());
      checkAccess(key.settings, { ...access, address });
      protocol.checkHeaders?.(request.headers);
      return key;
    }

    const key = keys.authenticate(presentedBy(request.socket, credential));
    return key instanceof Promise ? key.then(checked) : checked(key);
  };
}

/** Property of a socket: the API key that its last request presented. */
const LAST_PRESENTED = Symbol('last presented key');

type PresentingSocket = Socket & { [LAST_PRESENTED]?: PresentedKey };

/** Most connections present one key all the time, so that its digest is computed once. */
function presentedBy(socket: PresentingSocket, text: string): PresentedKey {
  const last = socket[LAST_PRESENTED];
  if (last?.text === text) return last;
  const presented = presentedKey(ownText(text));
  socket[LAST_PRESENTED] = presented;
  return presented;
}

/** Throws at once where the rate is counted in this process. */
function refuse(wait: MaybePromise<number>, hasNoKeys: boolean): Promise<never> {
  if (typeof wait === 'number') throw refusal(wait, hasNoKeys);
  return wait.then((milliseconds) => {
    throw refusal(milliseconds, hasNoKeys);
  });
}

/** Returns the same error for every unusable key. `wait`: milliseconds until the address may try again, or 0. */
function refusal(wait: number, hasNoKeys: boolean): GatewayError {
  if (wait === 0 && hasNoKeys) return noKeyYet();
  // Some clients recognise a wrong key by this wording.
  if (wait === 0) return new GatewayError('invalid_api_key', 'Incorrect API key provided.');
  return new GatewayError('rate_limit_exceeded', 'Too many incorrect API keys came from this address; wait a moment.', {
    retryAfter: wait,
  });
}

/** A new gateway that others can reach has no key until its operator makes one. */
function noKeyYet(): GatewayError {
  return new GatewayError(
    'invalid_api_key',
    'This gateway has no API key yet. Its operator makes one with: polygate keys create --name NAME',
  );
}
