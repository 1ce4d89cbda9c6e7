/** Error response in the format of the client's protocol. */

import { GatewayError, redact } from '../core/errors.ts';
import { MAX_FIELD_CHARACTERS, MAX_MESSAGE_CHARACTERS, shortened } from '../core/lengths.ts';
import type { Protocol } from '../core/protocol.ts';

export interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Maximum `Retry-After`: official SDKs ignore longer delays, or wait for hours. */
const MAX_RETRY_SECONDS = 60;

/** Encodes an error for a client. An error with an upstream's own response keeps its status and body. */
export function errorResponse(error: GatewayError, protocol: Protocol, requestId: string): ErrorResponse {
  const headers = {
    'content-type': 'application/json',
    'x-polygate-error': error.code,
    ...(error.allow && { allow: error.allow }),
    ...(error.code === 'upgrade_required' && { upgrade: 'websocket', connection: 'upgrade' }),
    ...retryHeaders(error),
  };
  if (error.upstreamResponse) return { ...error.upstreamResponse, headers };
  const { status, body } = protocol.encodeError(truncated(error), requestId);
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}

/** Truncates the message and the parameter, which can contain text of the client. */
function truncated(error: GatewayError): GatewayError {
  const { message, param = '' } = error;
  if (message.length <= MAX_MESSAGE_CHARACTERS && param.length <= MAX_FIELD_CHARACTERS) return error;
  return new GatewayError(error.code, shortened(message, MAX_MESSAGE_CHARACTERS), {
    ...error,
    param: error.param && shortened(error.param, MAX_FIELD_CHARACTERS),
    cause: error.cause,
  });
}

/**
 * Cause of an error for the log: the stack of an internal error, else the message without secrets and addresses. A timeout without
 * one says which deadline passed.
 */
export function causeOf({ code, message, cause }: GatewayError): string | undefined {
  if (!(cause instanceof Error)) return code === 'timeout' ? message : undefined;
  return code === 'internal_error' ? cause.stack : redact(cause.message);
}

/** SDKs retry 408, 409, 429 and every 5xx without `x-should-retry: false`. */
function retryHeaders(error: GatewayError): Record<string, string> {
  if (!error.retryable) return { 'x-should-retry': 'false' };
  if (error.code !== 'rate_limit_exceeded' && error.retryAfter === undefined) return {};
  const milliseconds = Math.min(error.retryAfter ?? 1000, MAX_RETRY_SECONDS * 1000);
  return { 'retry-after': String(Math.ceil(milliseconds / 1000)), 'retry-after-ms': String(Math.ceil(milliseconds)) };
}
