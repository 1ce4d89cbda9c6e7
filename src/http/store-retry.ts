/** Store retry for reads by polling clients, which might create a new task after an error. */

import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';

/** Maximum wait of a caller, and interval of the retries. */
const TIMEOUT_MS = 10_000;
const RETRY_INTERVAL_MS = 250;

export type ReadRetry = <Result>(read: () => Promise<Result>) => Promise<Result>;

/** Repeats a read that fails with `unavailable`, every 250 ms, for up to `timeoutMs`. */
export function createReadRetry(clock: Clock, timeoutMs = TIMEOUT_MS): ReadRetry {
  return async (read) => {
    const end = clock.monotonic() + timeoutMs;
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const isUnavailable = error instanceof GatewayError && error.code === 'unavailable';
        if (!isUnavailable || clock.monotonic() + RETRY_INTERVAL_MS > end) throw error;
        await new Promise<void>((resolve) => void clock.after(RETRY_INTERVAL_MS, resolve));
      }
    }
  };
}
