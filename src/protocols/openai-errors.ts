/** Errors of OpenAI: encoding for clients, and decoding of upstream errors. */

import {
  codeOfDecisiveStatus,
  codeOfUpstreamStatus,
  type ErrorCode,
  GatewayError,
  upstreamMessage,
} from '../core/errors.ts';
import { isObject, type Json } from '../core/json/json.ts';
import { lookUp } from '../core/plain-objects.ts';
import type { WireError } from '../core/protocol.ts';

const INVALID = 'invalid_request_error';

/** Wire `type` and `code` that differ from `invalid_request_error` and the gateway's code. */
const NAMES: Partial<Record<ErrorCode, { type: string; code?: string | null }>> = {
  insufficient_quota: { type: 'insufficient_quota' },
  response_not_found: { type: INVALID, code: null },
  conversation_not_found: { type: INVALID, code: null },
  permission_denied: { type: 'permission_error' },
  rate_limit_exceeded: { type: 'rate_limit_error' },
  internal_error: { type: 'server_error' },
  upstream_content_unavailable: { type: 'server_error' },
  upstream_error: { type: 'server_error' },
  overloaded: { type: 'service_unavailable_error', code: 'server_is_overloaded' },
  unavailable: { type: 'service_unavailable_error', code: 'service_unavailable' },
  timeout: { type: 'server_error' },
};

/** Error codes by upstream error name, regardless of the status. */
const MEANINGS: Record<string, ErrorCode> = {
  context_length_exceeded: 'context_length_exceeded',
  too_many_prompt_tokens: 'context_length_exceeded',
  string_above_max_length: 'context_length_exceeded',
  content_policy_violation: 'content_policy_violation',
  content_filter: 'content_policy_violation',
  moderation_blocked: 'content_policy_violation',
  bio_policy: 'content_policy_violation',
  misalignment_policy_violation: 'content_policy_violation',
  ResponsibleAIPolicyViolation: 'content_policy_violation',
  model_not_found: 'model_not_found',
  DeploymentNotFound: 'model_not_found',
  rate_limit_exceeded: 'rate_limit_exceeded',
  rate_limit_error: 'rate_limit_exceeded',
  server_is_overloaded: 'overloaded',
  service_unavailable_error: 'overloaded',
  slow_down: 'overloaded',
  provider_overloaded: 'overloaded',
  timeout: 'timeout',
  invalid_request_error: 'invalid_request',
  invalid_prompt: 'invalid_request',
};

/** Error names about the gateway's own account; not shown to the caller. */
const ACCOUNT_ERRORS = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'payment_required',
  'invalid_api_key',
  'authentication_error',
  'billing_hard_limit_reached',
]);

/** Message pattern, for servers without an error code. */
const CONTEXT_FULL = /context (length|window|size)|prompt (is )?too long|maximum prompt length|reduce the length/i;
/** Words of xAI and OpenRouter, which refuse content with 403. */
const CONTENT_REFUSED = /violates usage guidelines|input was flagged/i;

export function encodeError(error: GatewayError): WireError {
  const { type, code = error.code } = NAMES[error.code] ?? { type: INVALID };
  const body = { error: { message: error.message, type, code, param: error.param ?? null } };
  return { status: error.status, body };
}

/** Reads `{error: {...}}`, `{error: "..."}`, flat objects, lists of one of these, and treats anything else as empty. */
export function decodeError(status: number, body: unknown): GatewayError {
  const facts = factsOf(body);
  const code = codeOf(status, facts);
  const [upstreamCode] = facts.names;
  const details = { upstreamStatus: status, upstreamCode };
  if (!code) return new GatewayError('upstream_error', "The provider refused the gateway's credential.", details);
  return new GatewayError(code, messageOf(status, facts), {
    ...details,
    param: code === 'invalid_request' ? facts.param : undefined,
  });
}

/** The words of the provider; those of a 403 may name the gateway's account. */
function messageOf(status: number, { message }: Facts): string {
  if (status === 403) return 'The provider refused the content of the request.';
  return message ? upstreamMessage(message) : `The provider answered with status ${status}.`;
}

/** Decodes an error in a 200 body or a frame; its status is a member of the error or of the object that holds it. */
export function decodeErrorIn(error: Json, holder: Json): GatewayError {
  const status = [error.status_code, error.code, error.status, holder.status_code].map(statusOf).find(isErrorStatus);
  return decodeError(status ?? 0, { error });
}

interface Facts {
  names: string[];
  message?: string;
  param?: string;
}

function factsOf(body: Json): Facts {
  const outer = Array.isArray(body) ? body[0] : body;
  if (!isObject(outer)) return { names: [] };
  const error = outer.error ?? outer;
  if (typeof error === 'string') return { names: [], message: error };
  if (!isObject(error)) return { names: [] };
  const names = [error.code, error.innererror?.code, error.inner_error?.code, error.metadata?.error_type, error.type];
  const detail = Array.isArray(error.detail) ? error.detail[0]?.msg : error.detail;
  return {
    names: names.filter((name) => typeof name === 'string'),
    message: [error.message?.detail?.[0]?.msg, error.message, detail].find((text) => typeof text === 'string'),
    param: typeof error.param === 'string' ? error.param : undefined,
  };
}

/** Undefined for errors of the gateway's own account. Status 0 means unknown. */
function codeOf(status: number, { names, message = '' }: Facts): ErrorCode | undefined {
  const meaning = names.map((name) => lookUp(MEANINGS, name)).find((code) => code !== undefined);
  if (status === 403 && (meaning === 'content_policy_violation' || CONTENT_REFUSED.test(message)))
    return 'content_policy_violation';
  if (status === 401 || status === 402 || status === 403) return undefined;
  if (names.some((name) => ACCOUNT_ERRORS.has(name))) return undefined;
  const isInvalid = status === 400 || status === 413 || status === 422 || meaning === 'invalid_request';
  if (isInvalid && (meaning === 'context_length_exceeded' || CONTEXT_FULL.test(message))) {
    return 'context_length_exceeded';
  }
  const decided = codeOfDecisiveStatus(status);
  if (decided) return decided;
  if (meaning && (meaning !== 'invalid_request' || status === 0)) return meaning;
  return codeOfUpstreamStatus(status);
}

function statusOf(value: unknown): number {
  return typeof value === 'string' || typeof value === 'number' ? Number(value) : 0;
}

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status <= 599;
}
