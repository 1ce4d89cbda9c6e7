/** Fields of an HTTP message: names in lower case, with their values. Bearer tokens of `Authorization`, delays of `Retry-After`. */

export type Fields = Record<string, string | undefined>;

/** The longest pause that an upstream is given which asks for one. */
export const MAX_RETRY_AFTER_MS = 60 * 60_000;

const BEARER_PATTERN = /^bearer\s+(\S+)\s*$/i;
const SECONDS_PATTERN = /^\d{1,9}(\.\d+)?$/;
const MILLISECONDS_PATTERN = /^\d{1,12}(\.\d+)?$/;

/** Undefined for a missing header and for another authentication scheme. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return BEARER_PATTERN.exec(authorization ?? '')?.[1];
}

/** Seconds, or an HTTP date, as milliseconds from `now`; undefined for a missing or invalid header and for a date in the past. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const delayMs = SECONDS_PATTERN.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return delayMs >= 0 ? Math.ceil(delayMs) : undefined;
}

/** Undefined for a missing or invalid header. */
function parseRetryAfterMs(header: string | undefined): number | undefined {
  const text = header?.trim() ?? '';
  return MILLISECONDS_PATTERN.test(text) ? Number(text) : undefined;
}

/** Milliseconds, from `retry-after-ms` or `retry-after` in seconds or as a date. */
export function retryAfterOf(headers: Readonly<Fields>, now: number): number | undefined {
  return parseRetryAfterMs(headers['retry-after-ms']) ?? parseRetryAfter(headers['retry-after'], now);
}
