/** Unavailable store: the error of a full or read-only disk, a lock held by another process or an unreachable server, and retries until it is available. */

import { type Clock, sleep, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';

/** Suggested delay before a retry of a client. */
const RETRY_AFTER_MS = 1000;
const FIRST_RETRY_DELAY_MS = 100;
/** Keeps the time between the store's recovery and the next call below 5 seconds. */
const MAX_RETRY_DELAY_MS = 4_000;
/** Longest wait of a request or a check for the store: a disk or a network that stalls reports no error. */
const PATIENCE_MS = 5_000;

/** Reason of an error for the operator: of an unavailable store its problem, not the message for clients. */
export function problemOf(error: Error): string {
  return error instanceof StoreUnavailable ? error.problem : error.message;
}

export class StoreUnavailable extends GatewayError {
  /** Reason, for the operator. The message is for clients and reveals no internals. */
  readonly problem: string;

  constructor(problem: string, cause?: unknown) {
    super('unavailable', 'The gateway cannot reach its store at the moment; try again shortly.', {
      retryAfter: RETRY_AFTER_MS,
      cause,
    });
    this.problem = problem;
  }
}

/** Backoff in milliseconds after a number of consecutive failures. */
export function storeRetryDelay(failures: number): number {
  return Math.min(FIRST_RETRY_DELAY_MS * 2 ** (failures - 1), MAX_RETRY_DELAY_MS);
}

/** The answer of the store; throws `StoreUnavailable` if it takes longer, five seconds by default. The call goes on, and its outcome is unknown. */
export async function answerInTime<Result>(
  answer: Promise<Result>,
  clock: Pick<Clock, 'after'> = systemClock,
  patienceMs = PATIENCE_MS,
): Promise<Result> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(patienceMs, () => reject(new StoreUnavailable('it does not answer')));
  return Promise.race([answer, overdue]).finally(cancel);
}

/** Repeats a write while the store is unavailable. Once the signal aborts, throws the last error. */
export async function retryWhileUnavailable<Result>(
  write: () => Promise<Result>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || signal.aborted) throw error;
    }
    await sleep(clock, storeRetryDelay(failures), signal);
  }
}
