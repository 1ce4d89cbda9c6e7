/** A bound on how much runs at once. */

/** Runs the work when it is its turn; rejects with the signal's reason if that aborts before. */
export type Gate = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

export function createGate(limit: number): Gate {
  let free = limit;
  const waiting = new Set<() => void>();

  function turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        waiting.delete(start);
        reject(signal?.reason);
      };
      waiting.add(start);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Hands the place to the one who waits longest. */
  function leave(): void {
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
    else await turn(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
