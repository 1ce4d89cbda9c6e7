/** What has happened must be written down even if the store is away at that moment. */

import type { Clock } from '../core/clock.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { pause } from './clock.ts';

const FIRST = 100;
/** Work goes on within 5 seconds of the store's recovery. */
const LONGEST = 4_000;

/** Milliseconds to leave the store alone after so many failures in a row. */
export function backOff(failures: number): number {
  return Math.min(FIRST * 2 ** (failures - 1), LONGEST);
}

/** Tries again for as long as the store is unavailable; throws what it threw when the signal aborts. */
export async function persist<Result>(
  write: () => Promise<Result>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<Result> {
  for (let failures = 1; ; failures++) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || signal.aborted) throw error;
    }
    await pause(clock, backOff(failures), signal);
  }
}
