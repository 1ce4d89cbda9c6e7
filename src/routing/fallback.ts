/** Fallback rule: which upstream errors allow an attempt at another endpoint, and whose fault an error is. */

import type { GatewayError } from '../core/errors.ts';

/** Codes of errors without an error status: no connection, a timeout, or an error inside a 200. */
const UPSTREAM_FAULT_CODES: readonly string[] = [
  'rate_limit_exceeded',
  'overloaded',
  'unavailable',
  'timeout',
  'upstream_error',
];

/** True if the upstream failed, so that another one may succeed; false if the request is at fault. */
export function mayFallBack({ code, upstreamStatus }: GatewayError): boolean {
  // Refused content is refused elsewhere too, and is not offered around.
  if (code === 'content_policy_violation') return false;
  if (upstreamStatus === undefined || upstreamStatus < 400) return UPSTREAM_FAULT_CODES.includes(code);
  return upstreamStatus === 408 || upstreamStatus === 429 || upstreamStatus >= 500;
}

/** Statuses about the gateway's account: all of its models, or one that it may not use. */
const ACCOUNT_STATUSES = [401, 402, 403];

/** Whether the upstream refused the gateway's account, and not the content of the request. */
export function refusesAccount({ code, upstreamStatus = 0 }: GatewayError): boolean {
  return ACCOUNT_STATUSES.includes(upstreamStatus) && code !== 'content_policy_violation';
}

/** Whether it refused the account a model, of which other models may be used; or, where the request names files, one of these. */
export function refusesModel(error: GatewayError): boolean {
  return refusesAccount(error) && error.upstreamStatus === 403;
}

/** Whether the error is internal to the gateway, not caused by the upstream. */
export function isOurs({ code, upstreamStatus }: GatewayError): boolean {
  return upstreamStatus === undefined && (code === 'internal_error' || code === 'unavailable');
}
