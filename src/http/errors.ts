/** An error as the answer of the protocol that was spoken. */

import { GatewayError, redact } from '../core/errors.ts';
import { MAX_FIELD_CHARACTERS, MAX_MESSAGE_CHARACTERS, shortened } from '../core/lengths.ts';
import type { Protocol } from '../core/protocol.ts';

export interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Official SDKs ignore longer waits, or obey them for hours. */
const MAX_RETRY_SECONDS = 60;

export function errorAnswer(error: GatewayError, protocol: Protocol, requestId: string): ErrorAnswer {
  const headers = {
    'content-type': 'application/json',
    'x-polygate-error': error.code,
    ...(error.allow && { allow: error.allow }),
    ...retryHeaders(error),
  };
  if (error.answer) return { ...error.answer, headers };
  const { status, body } = protocol.encodeError(readable(error), requestId);
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}

/** The error without more of the client's own text than anyone reads. */
function readable(error: GatewayError): GatewayError {
  const { message, param = '' } = error;
  if (message.length <= MAX_MESSAGE_CHARACTERS && param.length <= MAX_FIELD_CHARACTERS) return error;
  return new GatewayError(error.code, shortened(message, MAX_MESSAGE_CHARACTERS), {
    ...error,
    param: error.param && shortened(error.param, MAX_FIELD_CHARACTERS),
    cause: error.cause,
  });
}

/** What the operator may read of an error's cause: where a bug of ours is, or else the words, without secrets and addresses. */
export function causeOf({ code, cause }: GatewayError): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return code === 'internal_error' ? cause.stack : redact(cause.message);
}

/** SDKs retry 408, 409, 429 and every 5xx unless they are told not to. */
function retryHeaders(error: GatewayError): Record<string, string> {
  if (!error.retryable) return { 'x-should-retry': 'false' };
  if (error.code !== 'rate_limit_exceeded' && error.retryAfter === undefined) return {};
  const milliseconds = Math.min(error.retryAfter ?? 1000, MAX_RETRY_SECONDS * 1000);
  return { 'retry-after': String(Math.ceil(milliseconds / 1000)), 'retry-after-ms': String(Math.ceil(milliseconds)) };
}
