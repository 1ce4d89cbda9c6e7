/** When a failed delivery is tried again. */

/** A first attempt and ten more. */
export const MAX_ATTEMPTS = 11;
/** Attempts after which a delivery leaves room for those of others. */
export const EARLY_ATTEMPTS = 3;

const SECOND = 1000;
const FIRST_DELAY = 5 * SECOND;
const LONGEST_DELAY = 600 * SECOND;
const LEAST_JITTER = SECOND;
const MOST_JITTER = 30 * SECOND;

/** Milliseconds to wait at least before retry `n`, which counts from 1. */
export function delayOf(n: number): number {
  return Math.min(FIRST_DELAY * 2 ** (n - 1), LONGEST_DELAY);
}

/** Milliseconds that may be added to it: a tenth, one second at least and half a minute at most. */
export function jitterOf(n: number): number {
  return Math.min(Math.max(delayOf(n) / 10, LEAST_JITTER), MOST_JITTER);
}

export interface Failed {
  /** Which attempt it was, counted from 1. */
  attempt: number;
  /** When it ended, in Unix milliseconds: the delay begins there. */
  endedAt: number;
  /** Milliseconds that the receiver asks for, if that is honoured. */
  retryAfter?: number;
}

/** When the next attempt is due; undefined after the last. `random` gives numbers from 0 to 1. */
export function nextAttempt({ attempt, endedAt, retryAfter = 0 }: Failed, random: () => number): number | undefined {
  if (attempt >= MAX_ATTEMPTS) return undefined;
  const delay = Math.max(delayOf(attempt), Math.min(retryAfter, LONGEST_DELAY));
  return endedAt + Math.ceil(delay + random() * jitterOf(attempt));
}
