/** Time of the sandbox: that of the gateway, with waits that end when the request is aborted. */

import { setImmediate } from 'node:timers/promises';
import { type Clock, sleep, systemClock } from '../../core/clock.ts';

export interface SandboxClock {
  /** Unix milliseconds. */
  now(): number;
  /** Rejects when aborted; 0 yields to other work. */
  wait(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export function createSandboxClock(clock: Clock = systemClock): SandboxClock {
  return {
    now: clock.now,
    async wait(milliseconds, signal) {
      if (milliseconds === 0) return setImmediate(undefined, { signal });
      await sleep(clock, milliseconds, signal);
      signal.throwIfAborted();
    },
  };
}
