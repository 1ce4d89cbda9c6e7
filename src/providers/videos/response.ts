/** Video responses: parsing of ids, amounts, statuses and errors, shared by the adapters. */

import { redact } from '../../core/errors.ts';
import { type Json, textOf } from '../../core/json/json.ts';
import { MAX_ADDRESS_CHARACTERS } from '../../core/lengths.ts';
import { withoutEnd } from '../../core/text.ts';
import type {
  CancelResult,
  PollResult,
  SubmitResult,
  TaskErrorCode,
  VideoAsset,
  VideoCharge,
  VideoFailure,
  VideoResponse,
} from '../../core/video.ts';

/** Characters of an upstream's message that are passed on. */
const MAX_MESSAGE_CHARACTERS = 500;
const MAX_AMOUNT_CHARACTERS = 100;

export type TaskState = 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'expired';

/** Task states by the upstream's status, in lower case. */
export type StatusMap = ReadonlyMap<string, TaskState>;

export function isSuccess({ status }: VideoResponse): boolean {
  return status >= 200 && status < 300;
}

/** A non-negative number, given as a number or a string. */
export function amountOf(value: Json): number | undefined {
  const amount = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? amount : undefined;
}

/** Text of at most so many characters, so that a task stays small that an upstream names at length. */
function shortTextOf(value: Json, most: number): string | undefined {
  const text = textOf(value);
  return text === undefined || text.length > most ? undefined : text;
}

/** An id that is safe in a path. `.` and `..` are not, even percent-encoded. */
export function idOf(value: Json): string | undefined {
  const id = Number.isSafeInteger(value) ? String(value) : shortTextOf(value, MAX_ADDRESS_CHARACTERS);
  return id === '.' || id === '..' || !id?.isWellFormed() ? undefined : id;
}

export function urlOf(value: Json): string | undefined {
  const url = shortTextOf(value, MAX_ADDRESS_CHARACTERS);
  return url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) ? url : undefined;
}

/** USD as a decimal string, to 1e-12. */
export function usdOf(value: Json): string | undefined {
  if (typeof value === 'string') {
    const text = shortTextOf(value, MAX_AMOUNT_CHARACTERS);
    return text !== undefined && /^\d+(\.\d+)?$/.test(text) ? text : undefined;
  }
  const amount = amountOf(value);
  return amount === undefined || amount >= 1e15 ? undefined : withoutEnd(withoutEnd(amount.toFixed(12), '0'), '.');
}

/** Result of a submission; `id` is the id of the accepted task. */
export function submitResult(response: VideoResponse, id: Json): SubmitResult {
  if (!isSuccess(response)) return rejection(response);
  const own = idOf(id);
  return own === undefined ? { type: 'unreadable' } : { type: 'accepted', ref: { id: own } };
}

/** Status codes of temporary refusals: payment, quota and rate limits. */
const RETRYABLE_STATUSES = new Set([402, 425, 429]);

function rejection({ status, body }: VideoResponse): SubmitResult {
  return { type: 'rejected', error: failureOf(body, errorCodeOf(status)), retryable: RETRYABLE_STATUSES.has(status) };
}

function errorCodeOf(status: number): TaskErrorCode {
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return 'invalid_input';
    case 401:
    case 403:
      return 'upstream_auth';
    case 404:
    case 410:
      return 'model_unavailable';
    default:
      return 'upstream_rejected';
  }
}

interface TaskStatusReport {
  statuses: StatusMap;
  status: Json;
  progress?: Json;
  charge?: VideoCharge;
  assets(): VideoAsset[];
  error(): VideoFailure;
}

export function pollResult({ statuses, status, progress, charge, assets, error }: TaskStatusReport): PollResult {
  const name = textOf(status);
  if (name === undefined) return { type: 'unreadable' };
  const state = statuses.get(name.toLowerCase());
  switch (state) {
    case undefined:
      return { type: 'unknown', status: name.slice(0, MAX_MESSAGE_CHARACTERS) };
    case 'queued':
      return { type: 'queued' };
    case 'running':
      return runningResult(progress);
    case 'completed':
      return { type: 'completed', assets: assets(), ...charge };
    case 'failed':
      return { type: 'failed', error: error(), ...charge };
    case 'cancelled':
    case 'expired':
      return { type: state, ...charge };
  }
}

export function runningResult(progress?: Json): PollResult {
  const percent = amountOf(progress);
  return percent === undefined || percent > 100 ? { type: 'running' } : { type: 'running', progress: percent };
}

/** Result of a poll without success status: only `410 Gone` is a statement about the task. */
export function failedPollResult({ status }: VideoResponse): PollResult {
  return status === 410 ? { type: 'lost' } : { type: 'unreadable' };
}

export function cancelResult(response: VideoResponse): CancelResult {
  if (isSuccess(response)) return { type: 'accepted' };
  return response.status >= 400 && response.status < 500 ? { type: 'too-late' } : { type: 'unreadable' };
}

const CONTENT_POLICY_PATTERN =
  /moderat|sensitive|safety|policy|prohibited|copyright|usage guidelines|responsible ai|nsfw|risk[_ ]control/i;

const DEFAULT_MESSAGES: Partial<Record<TaskErrorCode, string>> = {
  content_policy_violation: 'The content was refused by the safety system of the provider.',
  invalid_input: 'The provider refused the request without saying why.',
  model_unavailable: 'The provider does not offer this model to this gateway.',
  upstream_auth: 'The provider refused the credentials of this gateway.',
  upstream_rejected: 'The provider refused the request without saying why.',
};

/** The provider's error, without account data. Content policy violations are recognized by their wording. */
export function failureOf(body: Json, fallback: TaskErrorCode): VideoFailure {
  const { code, message } = reportedError(body);
  const ownCode = CONTENT_POLICY_PATTERN.test(`${code ?? ''} ${message ?? ''}`) ? 'content_policy_violation' : fallback;
  if (ownCode === 'upstream_auth' || !message) {
    return { code: ownCode, message: DEFAULT_MESSAGES[ownCode] ?? 'The provider failed without saying why.' };
  }
  return { code: ownCode, message: redact(message).slice(0, MAX_MESSAGE_CHARACTERS) };
}

/** Reads `{error: {message, code}}`, `{error: text}`, `{message, code}`, `{detail: text}` and `{detail: [{msg, type}]}`. */
function reportedError(body: Json): { code?: string; message?: string } {
  const given = body?.error || body?.detail || body;
  const error = Array.isArray(given) ? given[0] : given;
  const words = [error?.code, error?.type, body?.error_code, body?.error_type, body?.code];
  const message = [error, error?.message, error?.msg, error?.detail, body?.message].map(textOf).find(Boolean);
  return { code: words.map(textOf).filter(Boolean).join(' '), message };
}
