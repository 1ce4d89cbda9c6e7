/**
 * Check whether a worker hangs. Questions are counted, not timed: a primary that was suspended together with its workers
 * gives them time to answer.
 */

import { type Clock, every } from '../../core/clock.ts';

export interface HangCheckOptions {
  /** Asks the worker for a sign of life; rejects when it is gone. */
  ask(): Promise<unknown>;
  /** A check found no answer to the one before it. */
  onSilent(): void;
  /** A silent worker has answered. */
  onAnswer(): void;
  /** The worker has been silent for too long. */
  onHung(): void;
  clock: Pick<Clock, 'after'>;
}

export interface HangCheck {
  readonly isSilent: boolean;
  close(): void;
}

const CHECK_INTERVAL_MS = 5_000;
/** Checks in a row without an answer after which a worker counts as hung: about a minute. */
const MAX_UNANSWERED_CHECKS = 12;

export function startHangCheck({ ask, onSilent, onAnswer, onHung, clock }: HangCheckOptions): HangCheck {
  let isAsking = false;
  /** Checks that found no answer to the last question. */
  let unanswered = 0;

  function answered(): void {
    if (unanswered > 0) onAnswer();
    unanswered = 0;
    isAsking = false;
  }

  function check(): void {
    if (!isAsking) {
      isAsking = true;
      ask().then(answered, () => undefined);
      return;
    }
    unanswered += 1;
    if (unanswered === 1) onSilent();
    if (unanswered === MAX_UNANSWERED_CHECKS) onHung();
  }

  return {
    get isSilent() {
      return unanswered > 0;
    },
    close: every(clock, CHECK_INTERVAL_MS, check, { background: true }),
  };
}
