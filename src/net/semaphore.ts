/** Semaphore: limits concurrent work, first come first served. */

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
