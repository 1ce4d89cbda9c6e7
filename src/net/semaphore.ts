/** Semaphore: limits concurrent work, first come first served. */

import type { Clock } from '../core/clock.ts';

/** Runs the work when a slot is free; rejects with the signal's reason if it aborts first. */
export type Semaphore = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

export function createSemaphore(limit: number): Semaphore {
  let free = limit;
  const waiting = new Set<() => void>();

  function waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        signal?.removeEventListener('abort', cancel);
        resolve();
      };
      const cancel = () => {
        waiting.delete(start);
        reject(signal?.reason);
      };
      waiting.add(start);
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /** Passes the slot to the longest waiting caller. */
  function releaseSlot(): void {
    const [next] = waiting;
    if (!next) {
      free++;
      return;
    }
    waiting.delete(next);
    next();
  }

  return async (work, signal) => {
    signal?.throwIfAborted();
    if (free > 0) free--;
    else await waitForSlot(signal);
    try {
      return await work();
    } finally {
      releaseSlot();
    }
  };
}

/** Runs a handshake when there is a slot. */
export type HandshakeSlots = (handshake: () => Promise<void>, signal: AbortSignal) => Promise<void>;

/** Time after which a handshake that waits for its receiver leaves its slot to another: it takes no processor time. */
const MAX_SLOT_MS = 500;

/** Limits the handshakes that are computed at once, so that they do not hold up everything else. */
export function createHandshakeSlots(limit: number, clock: Clock): HandshakeSlots {
  const semaphore = createSemaphore(limit);
  async function atMost(work: Promise<void>, milliseconds: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = clock.after(milliseconds, late.resolve);
    await Promise.race([work, late.promise]);
    cancel();
  }
  return (handshake, signal) => semaphore(() => atMost(handshake(), MAX_SLOT_MS), signal);
}
