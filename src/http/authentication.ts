/** Whose request it is, from its head alone: the body of a stranger is never read. */

import { GatewayError } from '../core/errors.ts';
import { type Access, checkAccess } from '../keys/scopes.ts';
import type { Key, KeyStore } from '../keys/store.ts';
import { createClientAddress } from './client-address.ts';
import { createRate } from './rate.ts';
import type { RequestContext } from './request-context.ts';

export interface AuthenticationOptions {
  keys: Pick<KeyStore, 'authenticate'>;
  /** Address ranges of the proxies whose `X-Forwarded-For` is believed. */
  trustedProxies?: readonly string[];
}

/**
 * Throws `invalid_api_key`, `permission_denied`, `rate_limit_exceeded` for who presents too many wrong keys, and
 * `invalid_request` for headers of the protocol.
 */
export type Authenticate = (
  context: Pick<RequestContext, 'protocol' | 'request' | 'query'>,
  access: Omit<Access, 'address'>,
) => Promise<Key>;

/** Wrong keys that one address may present: so many at once, and as many a minute. */
const WRONG_KEYS = 30;

export function createAuthentication({ keys, trustedProxies = [] }: AuthenticationOptions): Authenticate {
  const addressOf = createClientAddress(trustedProxies);
  const wrongKey = createRate({ rate: WRONG_KEYS / 60, burst: WRONG_KEYS });

  return async ({ protocol, request, query }, access) => {
    const presented = new Set(protocol.credentials(request.headers, query));
    const [credential] = presented;
    if (credential === undefined) throw new GatewayError('invalid_api_key', 'An API key is required.');
    if (presented.size > 1) {
      throw new GatewayError('invalid_api_key', 'Several API keys that differ are presented; send one.');
    }
    const key = await keys.authenticate(credential);
    const address = addressOf(request);
    if (!key) throw refusal(wrongKey(address));
    checkAccess(key.settings, { ...access, address });
    protocol.checkHeaders?.(request.headers);
    return key;
  };
}

/** The same for every key that cannot be used, whatever the reason. */
function refusal(wait: number): GatewayError {
  // Some clients know a wrong key by these words.
  if (wait === 0) return new GatewayError('invalid_api_key', 'Incorrect API key provided.');
  return new GatewayError('rate_limit_exceeded', 'Too many incorrect API keys came from this address; wait a moment.', {
    retryAfter: wait,
  });
}
