/** Retry schedule of webhook deliveries: exponential backoff with jitter. */

/** The first attempt and ten retries. */
export const MAX_ATTEMPTS = 11;
/** Attempts after which a delivery counts as late and has lower priority. */
export const EARLY_ATTEMPTS = 3;

const SECOND_MS = 1000;
const FIRST_DELAY_MS = 5 * SECOND_MS;
const MAX_DELAY_MS = 600 * SECOND_MS;
const MIN_JITTER_MS = SECOND_MS;
const MAX_JITTER_MS = 30 * SECOND_MS;

/** Minimum delay in milliseconds before retry `n`, counted from 1. */
export function retryDelay(n: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (n - 1), MAX_DELAY_MS);
}

/** Maximum jitter in milliseconds: a tenth of the delay, at least 1 and at most 30 seconds. */
export function maxJitter(n: number): number {
  return Math.min(Math.max(retryDelay(n) / 10, MIN_JITTER_MS), MAX_JITTER_MS);
}

export interface FailedAttempt {
  /** Number of the attempt, counted from 1. */
  attempt: number;
  /** End of the attempt in Unix milliseconds; the delay starts here. */
  endedAt: number;
  /** `Retry-After` of the receiver in milliseconds, if it is honoured. */
  retryAfter?: number;
}

/** Due time of the next attempt in Unix milliseconds; undefined after the last. `random` returns numbers from 0 to 1. */
export function nextAttemptAt(
  { attempt, endedAt, retryAfter = 0 }: FailedAttempt,
  random: () => number,
): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  const delay = Math.max(retryDelay(attempt), Math.min(retryAfter, MAX_DELAY_MS));
  return endedAt + Math.ceil(delay + random() * maxJitter(attempt));
}
