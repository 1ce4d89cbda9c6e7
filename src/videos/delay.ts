/** Poll intervals and retry backoff, in milliseconds. */

import { MAX_RETRY_AFTER_MS } from '../core/fields.ts';

/** Default minimum interval; a provider can set its own. */
const MIN_POLL_INTERVAL_MS = 5_000;
const POLL_BACKOFF_FACTOR = 1.3;
const MAX_POLL_INTERVAL_MS = 20_000;
/** Task age from which the slow interval applies. */
const SLOW_POLLING_AFTER_MS = 10 * 60_000;
const SLOW_POLL_INTERVAL_MS = 60_000;

const FIRST_RETRY_DELAY_MS = 5_000;
const MAX_RETRY_DELAY_MS = 300_000;

export interface PollTiming {
  /** Polls that got a response. */
  polls: number;
  /** Time since acceptance. */
  elapsedMs: number;
  /** Minimum interval between polls, and before the first. */
  minIntervalMs?: number;
  /** `Retry-After` of the upstream in milliseconds. */
  retryAfter?: number;
  /** Random number from 0 to below 1. */
  random(): number;
}

/** Milliseconds until the next poll. */
export function pollDelay({
  polls,
  elapsedMs,
  minIntervalMs = MIN_POLL_INTERVAL_MS,
  retryAfter = 0,
  random,
}: PollTiming): number {
  const usual =
    elapsedMs >= SLOW_POLLING_AFTER_MS
      ? SLOW_POLL_INTERVAL_MS
      : Math.min(minIntervalMs * POLL_BACKOFF_FACTOR ** polls, MAX_POLL_INTERVAL_MS);
  return Math.max(minIntervalMs, withJitter(usual, random), Math.min(retryAfter, MAX_RETRY_AFTER_MS));
}

export interface FailureStreak {
  /** Consecutive failures, including this one. */
  failures: number;
  /** `Retry-After` of the upstream in milliseconds. */
  retryAfter?: number;
  /** Random number from 0 to below 1. */
  random(): number;
}

/** Milliseconds until the next attempt: from 5 s, doubled up to 5 min. A longer `Retry-After` counts up to 1 h. */
export function failureDelay({ failures, retryAfter = 0, random }: FailureStreak): number {
  const usual = Math.min(FIRST_RETRY_DELAY_MS * 2 ** Math.min(failures - 1, 10), MAX_RETRY_DELAY_MS);
  return Math.max(withJitter(usual, random), Math.min(retryAfter, MAX_RETRY_AFTER_MS));
}

/** Jitter of 20 percent, so that tasks created together spread out. */
function withJitter(delay: number, random: () => number): number {
  return Math.round(delay * (0.8 + 0.4 * random()));
}
