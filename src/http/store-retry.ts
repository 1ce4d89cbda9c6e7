/** Store retry for reads by polling clients, which might create a new task after an error. */

import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';

/** Maximum wait of a caller, and interval of the retries. */
const TIMEOUT_MS = 10_000;
const RETRY_INTERVAL_MS = 250;

export type Patiently = <Result>(read: () => Promise<Result>) => Promise<Result>;

export function createPatience(timeoutMs = TIMEOUT_MS): Patiently {
  return async (read) => {
    const end = performance.now() + timeoutMs;
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const isAway = error instanceof GatewayError && error.code === 'unavailable';
        if (!isAway || performance.now() + RETRY_INTERVAL_MS > end) throw error;
        await pause(RETRY_INTERVAL_MS);
      }
    }
  };
}
