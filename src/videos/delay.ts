/** How long to wait before an upstream is asked again. All in milliseconds. */

/** Where the upstream has no interval of its own. */
const MIN_POLL_INTERVAL_MS = 5_000;
const POLL_BACKOFF_FACTOR = 1.3;
const MAX_POLL_INTERVAL_MS = 20_000;
/** After this long a task is in no hurry. */
const SLOW_POLLING_AFTER_MS = 10 * 60_000;
const SLOW_POLL_INTERVAL_MS = 60_000;

const FIRST_RETRY_DELAY_MS = 5_000;
const MAX_RETRY_DELAY_MS = 300_000;
/** However long an upstream asks for. */
const MAX_RETRY_AFTER_MS = 3_600_000;

export interface PollTiming {
  /** Polls that were answered. */
  polls: number;
  /** Since the acceptance. */
  elapsedMs: number;
  /** Between two polls at least, and from the acceptance to the first. */
  minIntervalMs?: number;
  /** What the upstream asked for. */
  retryAfter?: number;
  random(): number;
}

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
  /** In a row, this one included. */
  failures: number;
  /** What the upstream asked for. */
  retryAfter?: number;
  random(): number;
}

export function failureDelay({ failures, retryAfter = 0, random }: FailureStreak): number {
  const usual = Math.min(FIRST_RETRY_DELAY_MS * 2 ** Math.min(failures - 1, 10), MAX_RETRY_DELAY_MS);
  return Math.max(withJitter(usual, random), Math.min(retryAfter, MAX_RETRY_AFTER_MS));
}

/** A fifth more or less, so that tasks that were created together drift apart. */
function withJitter(delay: number, random: () => number): number {
  return Math.round(delay * (0.8 + 0.4 * random()));
}
