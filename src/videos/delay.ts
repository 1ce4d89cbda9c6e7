/** How long to wait before an upstream is asked again. All in milliseconds. */

/** Where the upstream has no interval of its own. */
const FIRST_POLL = 5_000;
const GROWTH = 1.3;
const LONGEST_POLL = 20_000;
/** After this long a task is in no hurry. */
const PATIENCE = 10 * 60_000;
const PATIENT_POLL = 60_000;

const FIRST_FAILURE = 5_000;
const LONGEST_FAILURE = 300_000;
/** However long an upstream asks for. */
const LONGEST_RETRY_AFTER = 3_600_000;

export interface PollMoment {
  /** Polls that were answered. */
  polls: number;
  /** Since the acceptance. */
  elapsed: number;
  /** Between two polls at least, and from the acceptance to the first. */
  least?: number;
  /** What the upstream asked for. */
  retryAfter?: number;
  random(): number;
}

export function pollDelay({ polls, elapsed, least = FIRST_POLL, retryAfter = 0, random }: PollMoment): number {
  const usual = elapsed >= PATIENCE ? PATIENT_POLL : Math.min(least * GROWTH ** polls, LONGEST_POLL);
  return Math.max(least, jittered(usual, random), Math.min(retryAfter, LONGEST_RETRY_AFTER));
}

export interface FailureStreak {
  /** In a row, this one included. */
  failures: number;
  /** What the upstream asked for. */
  retryAfter?: number;
  random(): number;
}

export function failureDelay({ failures, retryAfter = 0, random }: FailureStreak): number {
  const usual = Math.min(FIRST_FAILURE * 2 ** Math.min(failures - 1, 10), LONGEST_FAILURE);
  return Math.max(jittered(usual, random), Math.min(retryAfter, LONGEST_RETRY_AFTER));
}

/** A fifth more or less, so that tasks that were created together drift apart. */
function jittered(delay: number, random: () => number): number {
  return Math.round(delay * (0.8 + 0.4 * random()));
}
