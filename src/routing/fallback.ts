/** Which failures of an upstream are worth another attempt elsewhere. */

import type { GatewayError } from '../core/errors.ts';

/** Errors that came without a status: no connection, no answer in time, or an error inside a 200. */
const UPSTREAM_FAULT_CODES: readonly string[] = [
  'rate_limit_exceeded',
  'overloaded',
  'unavailable',
  'timeout',
  'upstream_error',
];

/** True when the upstream is at fault, so that the same request may succeed at another; false when the request is. */
export function mayFallBack({ code, upstreamStatus }: GatewayError): boolean {
  if (upstreamStatus === undefined || upstreamStatus < 400) return UPSTREAM_FAULT_CODES.includes(code);
  return upstreamStatus === 408 || upstreamStatus === 429 || upstreamStatus >= 500;
}
