/** Reads that wait for the store while it is away, because their callers take an error for a reason to start over. */

import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../core/errors.ts';

/** Milliseconds that a caller waits before it is told after all, and between two tries. */
const PATIENCE = 10_000;
const INTERVAL = 250;

export type Patiently = <Result>(read: () => Promise<Result>) => Promise<Result>;

export function createPatience(patience = PATIENCE): Patiently {
  return async (read) => {
    const end = performance.now() + patience;
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const isAway = error instanceof GatewayError && error.code === 'unavailable';
        if (!isAway || performance.now() + INTERVAL > end) throw error;
        await pause(INTERVAL);
      }
    }
  };
}
