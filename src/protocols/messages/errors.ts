/** Errors of the messages protocol, in both directions. */

import {
  codeOfDecisiveStatus,
  codeOfUpstreamStatus,
  ERRORS,
  type ErrorCode,
  GatewayError,
  upstreamMessage,
} from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { lookUp } from '../../core/plain-objects.ts';
import type { WireError } from '../../core/protocol.ts';

interface WireKind {
  type: string;
  /** Status, if it differs from the core's table. */
  status?: number;
}

const INVALID: WireKind = { type: 'invalid_request_error' };
const OVERLOADED: WireKind = { type: 'overloaded_error', status: 529 };

/** Wire types other than `invalid_request_error`. */
const KINDS: Partial<Record<ErrorCode, WireKind>> = {
  invalid_api_key: { type: 'authentication_error' },
  insufficient_quota: { type: 'billing_error' },
  permission_denied: { type: 'permission_error' },
  model_not_found: { type: 'not_found_error' },
  not_found: { type: 'not_found_error' },
  payload_too_large: { type: 'request_too_large' },
  rate_limit_exceeded: { type: 'rate_limit_error' },
  request_timeout: { type: 'timeout_error' },
  client_closed: { type: 'api_error' },
  internal_error: { type: 'api_error' },
  upstream_error: { type: 'api_error', status: 500 },
  overloaded: OVERLOADED,
  unavailable: OVERLOADED,
  timeout: { type: 'timeout_error' },
};

/** Text by which clients of this protocol recognise a full context. */
const CONTEXT_LENGTH_MESSAGE = 'prompt is too long';

/** Makes the official SDK send the whole conversation. */
const THREAD_NOT_FOUND = { error_code: 'thread_not_found' };

export function encodeError(error: GatewayError, requestId?: string): WireError {
  const { type, status = ERRORS[error.code].status } = KINDS[error.code] ?? INVALID;
  const unnamed = error.code === 'context_length_exceeded' && !error.message.includes(CONTEXT_LENGTH_MESSAGE);
  const message = unnamed ? `${CONTEXT_LENGTH_MESSAGE}: ${error.message}` : error.message;
  const details = error.param === 'thread' && error.code === 'not_found' && { details: THREAD_NOT_FOUND };
  return { status, body: { type: 'error', error: { type, message, ...details }, request_id: requestId } };
}

/** The frame of an error in a stream that has begun. */
export function encodeErrorEvent(error: GatewayError, requestId?: string): string {
  return `event: error\ndata: ${JSON.stringify(encodeError(error, requestId).body)}\n\n`;
}

const CODES: Record<string, ErrorCode> = {
  invalid_request_error: 'invalid_request',
  authentication_error: 'upstream_error',
  billing_error: 'upstream_error',
  permission_error: 'upstream_error',
  not_found_error: 'model_not_found',
  request_too_large: 'payload_too_large',
  rate_limit_error: 'rate_limit_exceeded',
  api_error: 'upstream_error',
  timeout_error: 'timeout',
  overloaded_error: 'overloaded',
};

/** Codes of the content filters that Azure has before a model, in its own form of errors. */
const CONTENT_REFUSED = new Set(['content_filter', 'ResponsibleAIPolicyViolation']);

const CONTEXT_LENGTH_PATTERN = /prompt is too long|context (window|limit|length)|too many (input )?tokens/i;
const ACCOUNT_PATTERN = /credit balance|spend limit|billing|api key/i;
const ACCOUNT_STATUSES = [401, 402, 403];
/** Codes of limits and holds of the account, which Anthropic sends as limits of the rate and as invalid requests. */
const ACCOUNT_CODES = new Set(['contract_spend_limit_reached', 'enforced_spend_limit_reached', 'organization_on_hold']);

/** The error in an upstream's response; errors of the gateway's own account omit the upstream's message. */
export function decodeError(status: number, body: unknown): GatewayError {
  const error = isObject(body) ? errorObject(body) : undefined;
  const text = error?.message ?? (typeof body === 'string' && !body.includes('<') ? body.trim().slice(0, 500) : '');
  const code =
    error?.isRefusal && !ACCOUNT_STATUSES.includes(status) ? 'content_policy_violation' : codeOf(status, text, error);
  if (code === 'upstream_error') {
    const own =
      ACCOUNT_STATUSES.includes(status) ||
      ACCOUNT_PATTERN.test(text) ||
      ACCOUNT_CODES.has(error?.name ?? '') ||
      /auth|billing|permission/.test(error?.type ?? '');
    const message = own || text === '' ? 'The upstream refused or failed to answer.' : upstreamMessage(text);
    return new GatewayError(code, message, { upstreamStatus: status, upstreamCode: error?.name });
  }
  const message = text === '' ? `The upstream answered with status ${status}.` : upstreamMessage(text);
  return new GatewayError(code, message, { upstreamStatus: status });
}

function codeOf(status: number, text: string, { type, name = '' }: WireErrorFacts = {}): ErrorCode {
  if (ACCOUNT_STATUSES.includes(status) || ACCOUNT_CODES.has(name)) return 'upstream_error';
  const decided = codeOfDecisiveStatus(status);
  const named = lookUp(CODES, type);
  // A spending limit of the gateway's own account is not a rate limit of the caller.
  if (decided) return named === 'upstream_error' && /billing/.test(type ?? '') ? named : tooLarge(decided, text);
  const code = named ?? codeOfUpstreamStatus(status);
  if (code !== 'invalid_request') return code;
  if (ACCOUNT_PATTERN.test(text)) return 'upstream_error';
  return CONTEXT_LENGTH_PATTERN.test(text) ? 'context_length_exceeded' : code;
}

function tooLarge(code: ErrorCode, text: string): ErrorCode {
  return code === 'payload_too_large' && CONTEXT_LENGTH_PATTERN.test(text) ? 'context_length_exceeded' : code;
}

interface WireErrorFacts {
  type?: string;
  name?: string;
}

/** Reads `{error: {type, message}}`, and the flat forms of servers that imitate the protocol. */
function errorObject(body: Json): WireErrorFacts & { message: string; isRefusal: boolean } {
  const inner = isObject(body.error) ? body.error : body;
  const words = [inner.message, body.message, body.error, body.detail].find((value) => typeof value === 'string');
  const names = [inner.details?.error_code, inner.code, inner.innererror?.code, inner.inner_error?.code];
  const name = names.find((one) => typeof one === 'string');
  const isRefusal = names.some((name) => CONTENT_REFUSED.has(name));
  return { type: typeof inner.type === 'string' ? inner.type : undefined, name, message: words ?? '', isRefusal };
}

/** The error in a body or frame with status 200, if any. */
export function errorIn(body: Json): GatewayError | undefined {
  if (!isObject(body)) return undefined;
  const bare = body.type === undefined && body.content === undefined && body.error !== undefined && body.error !== null;
  if (body.type !== 'error' && !bare) return undefined;
  return decodeError(statusOf(isObject(body.error) ? body.error.type : undefined), body);
}

/** The HTTP status for an error inside a stream. */
function statusOf(type: unknown): number {
  const code = lookUp(CODES, type);
  return code ? ERRORS[code].status : 500;
}
