/** Store retry for reads by polling clients, which might create a new task after an error. */

import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';

/** Maximum wait of a caller, and interval of the retries. */
const TIMEOUT_MS = 10_000;
const RETRY_INTERVAL_MS = 250;

export type ReadRetry = <Result>(read: () => Promise<Result>) => Promise<Result>;

export function createReadRetry(timeoutMs = TIMEOUT_MS): ReadRetry {
  return async (read) => {
    const end = performance.now() + timeoutMs;
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const isUnavailable = error instanceof GatewayError && error.code === 'unavailable';
        if (!isUnavailable || performance.now() + RETRY_INTERVAL_MS > end) throw error;
        await pause(RETRY_INTERVAL_MS);
      }
    }
  };
}
