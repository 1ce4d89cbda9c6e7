/** Errors of generateContent, in both directions. */

import {
  codeOfDecisiveStatus,
  codeOfUpstreamStatus,
  ERRORS,
  type ErrorCode,
  GatewayError,
  upstreamMessage,
} from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import type { WireError } from '../../core/protocol.ts';

/** HTTP statuses that differ from the common table. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  insufficient_quota: 429,
  payload_too_large: 400,
  unsupported_media_type: 400,
  upstream_error: 503,
};

const STATUS_NAMES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'INVALID_ARGUMENT',
  408: 'DEADLINE_EXCEEDED',
  429: 'RESOURCE_EXHAUSTED',
  431: 'INVALID_ARGUMENT',
  499: 'CANCELLED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

const TYPE = 'type.googleapis.com/google.rpc.';

export function encodeError(error: GatewayError, requestId: string): WireError {
  const status = STATUS[error.code] ?? ERRORS[error.code].status;
  const name = STATUS_NAMES[status] ?? 'UNKNOWN';
  return {
    status,
    body: { error: { code: status, message: error.message, status: name, details: details(error, requestId) } },
  };
}

function details(error: GatewayError, requestId: string): Json[] {
  const reason = error.code === 'invalid_api_key' ? 'API_KEY_INVALID' : error.code.toUpperCase();
  const list: Json[] = [{ '@type': `${TYPE}ErrorInfo`, reason, domain: 'polygate' }];
  if (error.param !== undefined) {
    const fieldViolations = [{ field: error.param, description: error.message }];
    list.push({ '@type': `${TYPE}BadRequest`, fieldViolations });
  }
  if (error.retryAfter !== undefined) {
    list.push({ '@type': `${TYPE}RetryInfo`, retryDelay: `${Number((error.retryAfter / 1000).toFixed(3))}s` });
  }
  if (requestId !== '') list.push({ '@type': `${TYPE}RequestInfo`, requestId });
  return list;
}

const CONTEXT_LENGTH_PATTERN = /token count|maximum number of tokens|context (length|window)|too many tokens/i;

export function decodeError(status: number, body: unknown): GatewayError {
  const first: Json = Array.isArray(body) ? body[0] : body;
  const error: Json = isObject(first) && isObject(first.error) ? first.error : {};
  const text = typeof error.message === 'string' && error.message !== '' ? upstreamMessage(error.message) : undefined;
  const found = { upstreamStatus: status, retryAfter: retryDelay(error) };
  const decided = codeOfDecisiveStatus(status);
  if (!decided && isOurFault(status, error)) {
    return new GatewayError('upstream_error', 'The upstream refused the credentials of the gateway.', found);
  }
  if (status === 400 && CONTEXT_LENGTH_PATTERN.test(text ?? '') && /exceed|too (long|many|large)/i.test(text ?? '')) {
    return new GatewayError('context_length_exceeded', text ?? '', found);
  }
  const code = decided ?? codeOfUpstreamStatus(status);
  return new GatewayError(code, text ?? `The upstream answered with status ${status}.`, found);
}

/** Statuses about the gateway's account. */
const ACCOUNT_STATUSES = [401, 402, 403];

/** Errors of the gateway's own key; their details are not shown to the caller. */
function isOurFault(status: number, error: Json): boolean {
  if (ACCOUNT_STATUSES.includes(status) || error.status === 'FAILED_PRECONDITION') return true;
  const reasons = Array.isArray(error.details) ? error.details.map((detail: Json) => detail?.reason) : [];
  return (
    status === 400 && reasons.some((reason: unknown) => typeof reason === 'string' && reason.startsWith('API_KEY_'))
  );
}

function retryDelay(error: Json): number | undefined {
  if (!Array.isArray(error.details)) return undefined;
  const delay = error.details
    .map((detail: Json) => detail?.retryDelay)
    .find((value: Json) => typeof value === 'string');
  const seconds = Number.parseFloat(delay);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
}

/** The error in a 200 body or a frame, if any. */
export function errorIn(body: Json): GatewayError | undefined {
  const first = Array.isArray(body) ? body[0] : body;
  if (!isObject(first) || !isObject(first.error)) return undefined;
  const { code } = first.error;
  return decodeError(Number.isInteger(code) && code >= 400 && code <= 599 ? code : 502, first);
}
