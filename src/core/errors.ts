/** Error codes of the gateway, their HTTP status and whether a retry makes sense. Wire formats live with their protocol. */

interface ErrorKind {
  /** HTTP status on chat completions; a protocol may differ in its own table. */
  status: number;
  /** Whether the same request may succeed later. */
  retryable: boolean;
}

export const ERRORS = {
  invalid_request: { status: 400, retryable: false },
  unsupported_parameter: { status: 400, retryable: false },
  unsupported_modality: { status: 400, retryable: false },
  unsupported_tool: { status: 400, retryable: false },
  context_length_exceeded: { status: 400, retryable: false },
  content_policy_violation: { status: 400, retryable: false },
  invalid_callback_url: { status: 400, retryable: false },
  model_not_video: { status: 400, retryable: false },
  unsupported_parameter_value: { status: 400, retryable: false },
  input_fetch_failed: { status: 400, retryable: false },
  unsupported_variant: { status: 400, retryable: false },
  previous_response_not_found: { status: 400, retryable: false },
  item_not_found: { status: 400, retryable: false },
  conversation_locked: { status: 400, retryable: false },
  websocket_connection_limit_reached: { status: 400, retryable: false },
  invalid_api_key: { status: 401, retryable: false },
  insufficient_quota: { status: 402, retryable: false },
  invalid_signature: { status: 403, retryable: false },
  url_expired: { status: 403, retryable: false },
  permission_denied: { status: 403, retryable: false },
  model_not_found: { status: 404, retryable: false },
  video_not_found: { status: 404, retryable: false },
  response_not_found: { status: 404, retryable: false },
  conversation_not_found: { status: 404, retryable: false },
  not_found: { status: 404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  request_timeout: { status: 408, retryable: true },
  video_not_ready: { status: 409, retryable: false },
  video_not_terminal: { status: 409, retryable: false },
  cancel_not_possible: { status: 409, retryable: false },
  delivery_in_flight: { status: 409, retryable: false },
  set_in_configuration: { status: 409, retryable: false },
  changed_meanwhile: { status: 409, retryable: false },
  video_content_expired: { status: 410, retryable: false },
  payload_too_large: { status: 413, retryable: false },
  unsupported_media_type: { status: 415, retryable: false },
  idempotency_key_reused: { status: 422, retryable: false },
  upgrade_required: { status: 426, retryable: false },
  rate_limit_exceeded: { status: 429, retryable: true },
  headers_too_large: { status: 431, retryable: false },
  client_closed: { status: 499, retryable: false },
  internal_error: { status: 500, retryable: true },
  upstream_content_unavailable: { status: 502, retryable: true },
  upstream_error: { status: 502, retryable: true },
  overloaded: { status: 503, retryable: true },
  unavailable: { status: 503, retryable: true },
  timeout: { status: 504, retryable: true },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorDetails {
  /** The invalid field as the caller wrote it, e.g. `messages[2].content`. */
  param?: string;
  /** Milliseconds after which a retry makes sense. */
  retryAfter?: number;
  /** The methods that the path accepts. */
  allow?: string;
  /** The upstream's HTTP status. */
  upstreamStatus?: number;
  /** The upstream's own name of the error. */
  upstreamCode?: string;
  /** The upstream's error response, passed on to a client of the same protocol. */
  upstreamResponse?: { status: number; body: Buffer };
  cause?: unknown;
}

/** The only error type thrown across modules. `message` is shown to the caller and never contains a key, an upstream URL or an account. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfter: number | undefined;
  readonly allow: string | undefined;
  readonly upstreamStatus: number | undefined;
  readonly upstreamCode: string | undefined;
  readonly upstreamResponse: ErrorDetails['upstreamResponse'];

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.param = details.param;
    this.retryAfter = details.retryAfter;
    this.allow = details.allow;
    this.upstreamStatus = details.upstreamStatus;
    this.upstreamCode = details.upstreamCode;
    this.upstreamResponse = details.upstreamResponse;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}

/** Converts anything thrown; an unknown error becomes `internal_error` without details. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal_error', 'The gateway failed to handle this request.', { cause: thrown });
}

/** The error with another time after which a retry makes sense, in milliseconds. */
export function withRetryAfter(error: GatewayError, retryAfter: number | undefined): GatewayError {
  if (retryAfter === error.retryAfter) return error;
  return new GatewayError(error.code, error.message, { ...error, cause: error.cause, retryAfter });
}

/** Error code for an upstream's HTTP status, used if the body has no better one. */
export function codeOfUpstreamStatus(status: number): ErrorCode {
  switch (status) {
    case 400:
    case 409:
    case 422:
      return 'invalid_request';
    case 404:
      return 'model_not_found';
    case 413:
      return 'payload_too_large';
    case 429:
      return 'rate_limit_exceeded';
    case 408:
    case 504:
      return 'timeout';
    case 503:
    case 529:
      return 'overloaded';
    default:
      return 'upstream_error';
  }
}

/** Name of an error for a request whose time an upstream refused, and which may be accepted with the time of the upstream. */
export const REFUSED_TIME_NAME = 'RequestTimeTooSkewed';

/** Statuses that decide the error code whatever the body contains, because they tell clients how to retry. */
const DECISIVE_STATUSES = [408, 413, 429, 503, 504, 529];

/** Error code of a decisive status; undefined for all others. */
export function codeOfDecisiveStatus(status: number): ErrorCode | undefined {
  return DECISIVE_STATUSES.includes(status) ? codeOfUpstreamStatus(status) : undefined;
}

/** Maximum length of an upstream's error message. */
const MAX_MESSAGE_CHARACTERS = 1000;

/** An upstream's error message, redacted and shortened for the caller. */
export function upstreamMessage(text: string): string {
  return redact(text.slice(0, MAX_MESSAGE_CHARACTERS * 2)).slice(0, MAX_MESSAGE_CHARACTERS);
}

const SECRET_PATTERNS = [
  /\b(?:sk|pk|rk|gsk|xai|AIza|key)[-_][A-Za-z0-9_*.-]{6,}/g,
  /\bAIza[A-Za-z0-9_-]{10,}/g,
  /\b(?:org|proj|acct|user)-[A-Za-z0-9]{8,}/g,
  /\b(?:team|api key id): ?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi,
  /https?:\/\/[^\s"'<>)]+/g,
];

/** Removes keys, account ids and URLs from a text. */
export function redact(text: string): string {
  return SECRET_PATTERNS.reduce((clean, secret) => clean.replace(secret, '[redacted]'), text);
}
