/** Cancellation: a flag with listeners. An `AbortSignal`, which costs as much as all the rest of a small request, is made only for those that need one. */

export class Cancellation {
  #isCancelled = false;
  #listeners: (() => void)[] = [];
  #controller: AbortController | undefined;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Abort signal that is aborted with this cancellation, for functions of the platform. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isCancelled) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Calls the listeners, once. */
  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    for (const listener of this.#listeners.splice(0)) listener();
    this.#controller?.abort();
  }

  /** `listener` is called when it is cancelled, not where it already is. Returns a function that removes the listener. */
  onCancel(listener: () => void): () => void {
    this.#listeners.push(listener);
    return () => {
      const index = this.#listeners.indexOf(listener);
      if (index >= 0) this.#listeners.splice(index, 1);
    };
  }
}

/** The result, or a rejection with the signal's reason as soon as it aborts, for work that cannot be aborted. */
export async function untilAborted<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([aborted, result]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
