/** `Retry-After` headers: seconds, or an HTTP date. */

const SECONDS_PATTERN = /^\d{1,9}(\.\d+)?$/;

/** Milliseconds from `now`; undefined for a missing or invalid header and for a date in the past. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const delayMs = SECONDS_PATTERN.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return delayMs >= 0 ? Math.ceil(delayMs) : undefined;
}
