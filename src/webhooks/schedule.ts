/** When a failed delivery is tried again. */

/** A first attempt and ten more. */
export const MAX_ATTEMPTS = 11;
/** Attempts after which a delivery leaves room for those of others. */
export const EARLY_ATTEMPTS = 3;

const SECOND_MS = 1000;
const FIRST_DELAY_MS = 5 * SECOND_MS;
const MAX_DELAY_MS = 600 * SECOND_MS;
const MIN_JITTER_MS = SECOND_MS;
const MAX_JITTER_MS = 30 * SECOND_MS;

/** Milliseconds to wait at least before retry `n`, which counts from 1. */
export function retryDelay(n: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (n - 1), MAX_DELAY_MS);
}

/** Milliseconds that may be added to it: a tenth, one second at least and half a minute at most. */
export function maxJitter(n: number): number {
  return Math.min(Math.max(retryDelay(n) / 10, MIN_JITTER_MS), MAX_JITTER_MS);
}

export interface FailedAttempt {
  /** Which attempt it was, counted from 1. */
  attempt: number;
  /** When it ended, in Unix milliseconds: the delay begins there. */
  endedAt: number;
  /** Milliseconds that the receiver asks for, if that is honoured. */
  retryAfter?: number;
}

/** When the next attempt is due; undefined after the last. `random` gives numbers from 0 to 1. */
export function nextAttemptAt(
  { attempt, endedAt, retryAfter = 0 }: FailedAttempt,
  random: () => number,
): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  const delay = Math.max(retryDelay(attempt), Math.min(retryAfter, MAX_DELAY_MS));
  return endedAt + Math.ceil(delay + random() * maxJitter(attempt));
}
