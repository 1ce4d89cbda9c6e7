/** A bound on how much runs at once. */

/** Runs the work when it is its turn; rejects with the signal's reason if that aborts before. */
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

  /** Hands the place to the one who waits longest. */
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
