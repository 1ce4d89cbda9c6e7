/** Access to the routes for operators: with the admin token; without a configured token, from this machine only. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { bearerToken, type Fields } from '../core/fields.ts';
import type { ServerRequest } from '../http1/server-request.ts';
import type { Secret } from '../security/secret.ts';
import { createClientAddress, networkOf } from './client-address.ts';
import { createRate } from './rate.ts';
import { nothingAt } from './route-table.ts';
import { loopbackHost } from './sessions/site.ts';

export interface OperatorAccess {
  /** Without a token the routes are available on loopback only. */
  token?: Secret;
  /** The gateway listens on loopback. */
  local: boolean;
  trustedProxies?: readonly string[];
  clock: Pick<Clock, 'monotonic'>;
  log: Pick<Logger, 'info'>;
}

/**
 * Throws `invalid_api_key`, `rate_limit_exceeded` after too many wrong tokens, `permission_denied` for a name that is not a loopback
 * one, and `not_found` if the route is unavailable.
 */
export type CheckOperator = (
  route: { method: string; path: string },
  request: Pick<ServerRequest, 'headers' | 'socket'>,
) => void;

export function createOperatorCheck({ token, local, trustedProxies = [], clock, log }: OperatorAccess): CheckOperator {
  const addressOf = createClientAddress(trustedProxies);
  const checkToken = token && createTokenCheck(token, clock);
  let hinted = false;
  return ({ method, path }, request) => {
    const { headers } = request;
    if (checkToken) return checkToken(headers, addressOf(request));
    if (local) {
      // Every browser sends the header, so a page of another name cannot leave it out.
      if (headers.host === undefined || loopbackHost(headers.host) !== undefined) return;
      throw notLoopback();
    }
    if (!hinted) log.info(`${method} ${path} is asked for; set admin.token to open it, or listen on loopback`);
    hinted = true;
    throw nothingAt(method, path);
  };
}

/** Wrong tokens allowed per client address: burst, and number per minute. */
const MAX_WRONG_TOKENS = 30;

/** Throws `invalid_api_key`, and `rate_limit_exceeded` after too many wrong tokens from an address. */
export function createTokenCheck(
  token: Secret,
  clock: Pick<Clock, 'monotonic'>,
): (headers: Fields, address: string) => void {
  const wrongToken = createRate({ rate: MAX_WRONG_TOKENS / 60, burst: MAX_WRONG_TOKENS, now: clock.monotonic });
  return ({ authorization = '' }, address) => {
    const presented = bearerToken(authorization);
    if (presented !== undefined && isEqual(presented, token.reveal())) return;
    const wait = presented === undefined ? 0 : wrongToken(networkOf(address));
    if (wait === 0) {
      throw new GatewayError('invalid_api_key', 'The admin token is required: Authorization: Bearer <token>.');
    }
    throw new GatewayError('rate_limit_exceeded', 'Too many wrong tokens; wait a moment.', { retryAfter: wait });
  };
}

function notLoopback(): GatewayError {
  const message = 'Without admin.token, the header host must be a loopback name.';
  return new GatewayError('permission_denied', message, { param: 'host' });
}

/** Compares digests, which have the same length, in constant time. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
