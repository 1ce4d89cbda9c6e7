/** Store retries: repeats a store call with exponential backoff while the store is unavailable. */

import { type Clock, sleep } from '../core/clock.ts';
import { StoreUnavailable } from '../store/unavailable.ts';

const FIRST_RETRY_DELAY_MS = 100;
/** Keeps the time between the store's recovery and the next call below 5 seconds. */
const MAX_RETRY_DELAY_MS = 4_000;

/** Backoff in milliseconds after a number of consecutive failures. */
export function storeRetryDelay(failures: number): number {
  return Math.min(FIRST_RETRY_DELAY_MS * 2 ** (failures - 1), MAX_RETRY_DELAY_MS);
}

/** Retries while the store is unavailable. Once the signal aborts, throws the last error. */
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
