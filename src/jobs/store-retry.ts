/** What has happened must be written down even if the store is away at that moment. */

import type { Clock } from '../core/clock.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { sleep } from './clock.ts';

const FIRST_RETRY_DELAY_MS = 100;
/** Work goes on within 5 seconds of the store's recovery. */
const MAX_RETRY_DELAY_MS = 4_000;

/** Milliseconds to leave the store alone after so many failures in a row. */
export function storeRetryDelay(failures: number): number {
  return Math.min(FIRST_RETRY_DELAY_MS * 2 ** (failures - 1), MAX_RETRY_DELAY_MS);
}

/** Tries again for as long as the store is unavailable; throws what it threw when the signal aborts. */
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
