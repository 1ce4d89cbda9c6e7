/** Access to the routes for operators: with the admin token; without a configured token, from this machine only. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { bearerToken } from '../core/bearer.ts';
import { GatewayError } from '../core/errors.ts';
import type { Fields } from '../core/fields.ts';
import type { Secret } from '../security/secret.ts';
import { nothingAt } from './route-table.ts';
import { loopbackHost } from './sessions/site.ts';

export interface OperatorAccess {
  /** Without a token the routes are available on loopback only. */
  token?: Secret;
  /** The gateway listens on loopback. */
  local: boolean;
  log: Pick<Logger, 'info'>;
}

/** Throws `invalid_api_key`, `permission_denied` for a name that is not a loopback one, and `not_found` if the route is unavailable. */
export type CheckOperator = (route: { method: string; path: string }, headers: Fields) => void;

export function createOperatorCheck({ token, local, log }: OperatorAccess): CheckOperator {
  let hinted = false;
  return ({ method, path }, headers) => {
    if (token) {
      if (presentsToken(headers, token)) return;
      throw tokenRequired();
    }
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

/** Whether the token of a request is correct; undefined without one. */
export function presentsToken({ authorization = '' }: Fields, token: Secret): boolean | undefined {
  const presented = bearerToken(authorization);
  return presented === undefined ? undefined : isEqual(presented, token.reveal());
}

export function tokenRequired(): GatewayError {
  return new GatewayError('invalid_api_key', 'The admin token is required: Authorization: Bearer <token>.');
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
