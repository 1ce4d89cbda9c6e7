/** Errors of the Responses protocol inside a 200 body or a stream. */

import type { ErrorCode, GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import type { AnswerFacts, EncoderOptions } from '../../core/operation.ts';
import { decodeErrorIn } from '../openai-errors.ts';
import { responseIn } from './facts.ts';
import { encodeResponseObject } from './response-object.ts';

/** Codes of a failed response. Codex repeats the request only for `rate_limit_exceeded` and `server_error`. */
const CODES: Partial<Record<ErrorCode, string>> = {
  context_length_exceeded: 'context_length_exceeded',
  insufficient_quota: 'insufficient_quota',
  rate_limit_exceeded: 'rate_limit_exceeded',
};

/** One event `response.failed`, with the id of the response that the stream began and the next number. */
export function encodeStreamError(
  error: GatewayError,
  requestId: string,
  options: EncoderOptions,
  { id = `resp_${requestId}`, sequence = -1 }: AnswerFacts = {},
): string {
  const failed = { id, created: options.created, status: 'failed' as const, error: encodeErrorMember(error) };
  const response = encodeResponseObject({ ...failed, output: [] }, options);
  const event = { type: 'response.failed', sequence_number: sequence + 1, response };
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The error in a failed response. */
export function encodeErrorMember(error: GatewayError): Json {
  const code = CODES[error.code] ?? (error.retryable ? 'server_error' : 'invalid_prompt');
  return { code, message: wordsOf(error) };
}

/** Codex reads the seconds at the end of the message. */
function wordsOf({ code, message, retryAfter }: GatewayError): string {
  if (code !== 'rate_limit_exceeded' || retryAfter === undefined) return message;
  return `${message} Please try again in ${Math.max(1, Math.ceil(retryAfter / 1000))}s.`;
}

/** The error of a failed response, of an event `error` in both of its spellings, and beside anything else. */
export function errorIn(body: Json): GatewayError | undefined {
  if (!isObject(body)) return undefined;
  const response = responseIn(body);
  const error =
    body.error ?? (isErrorEvent(body) ? body : undefined) ?? response.error ?? silentFailure(body, response);
  return error === undefined || error === null ? undefined : decodeErrorIn(error, body);
}

function isErrorEvent({ type, object, message, code }: Json): boolean {
  return object === 'error' || (type === 'error' && (message !== undefined || code !== undefined));
}

/** A failed response without a reason. */
function silentFailure({ type }: Json, { object, status }: Json): Json {
  return type === 'response.failed' || (object === 'response' && status === 'failed')
    ? { message: 'The provider failed.' }
    : undefined;
}
