/** Clock: time of day, monotonic time and timers, of this machine or with the time of a store. Tests replace it by a manual clock. */

/** Clocks that show an earlier time, 2026, were not set yet. Unix milliseconds. */
export const EARLIEST_TIME_MS = Date.UTC(2026, 0);

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Monotonic milliseconds since an arbitrary moment; unaffected by changes of the system time. */
  monotonic(): number;
  /** Calls back after a delay in milliseconds; returns a function that cancels the timer. */
  after(milliseconds: number, callback: () => void, options?: TimerOptions): () => void;
}

export interface TimerOptions {
  /** The timer does not keep the process alive. */
  background?: boolean;
}

export interface Timeout {
  /** Aborts with a `TimeoutError` after the delay, or with the reason of the outer signal. */
  readonly signal: AbortSignal;
  cancel(): void;
}

/** Milliseconds since an arbitrary moment. */
export function monotonicNow(): number {
  return performance.now();
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: Date.now,
  monotonic: monotonicNow,
  after(milliseconds, callback, { background = false } = {}) {
    const timer = setTimeout(callback, milliseconds);
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** The time of a store, which all its gateways share, with the timers of this machine. */
export function createStoreClock(store: Pick<Clock, 'now'>): Clock {
  return { ...systemClock, now: () => store.now() };
}

/** Unix milliseconds of an ISO date or time; NaN for any other text, and for a day that its month does not have. */
export function momentOf(text: string): number {
  const day = text.slice(0, 'YYYY-MM-DD'.length);
  // `Date.parse` takes February 30 for March 2.
  const isKnown = new Date(day).toJSON()?.startsWith(day) === true;
  return isKnown ? Date.parse(text) : Number.NaN;
}

/** Resolves after the delay, or as soon as the signal aborts. */
export function sleep(
  clock: Pick<Clock, 'after'>,
  milliseconds: number,
  signal?: AbortSignal,
  options?: TimerOptions,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(milliseconds, finish, options);
    signal?.addEventListener('abort', finish, { once: true });
  });
}

/** Starts a timeout in milliseconds; the caller cancels it as soon as it is not needed. */
export function startTimeout(clock: Pick<Clock, 'after'>, milliseconds: number, outer?: AbortSignal): Timeout {
  const controller = new AbortController();
  const cancel = clock.after(milliseconds, () =>
    controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
  );
  return { signal: outer ? AbortSignal.any([controller.signal, outer]) : controller.signal, cancel };
}

/** Calls back at each end of an interval in milliseconds; returns a function that ends it. */
export function every(
  clock: Pick<Clock, 'after'>,
  milliseconds: number,
  callback: () => void,
  options?: TimerOptions,
): () => void {
  let cancel = clock.after(milliseconds, onDue, options);
  function onDue(): void {
    cancel = clock.after(milliseconds, onDue, options);
    callback();
  }
  return () => cancel();
}

/** Time for which an age is known that nobody asks for. */
const AGE_KEPT_MS = 3_600_000;

export interface Ages {
  /** Milliseconds since a moment. It may be ahead of the clock, which was then set back: its age begins with the first question. */
  of(name: string, moment: number): number;
  forget(name: string): void;
}

/** Ages that pass by the monotonic clock from the first question for each on, whatever the clock is set to meanwhile. */
export function createAges(clock: Pick<Clock, 'now' | 'monotonic'>): Ages {
  /** Moments by the monotonic clock; the one that was asked for last is the last. */
  const known = new Map<string, { since: number; askedAt: number }>();
  return {
    of(name, moment) {
      const askedAt = clock.monotonic();
      const { since } = known.get(name) ?? { since: askedAt - Math.max(0, clock.now() - moment) };
      known.delete(name);
      known.set(name, { since, askedAt });
      for (const [other, age] of known) {
        if (askedAt - age.askedAt <= AGE_KEPT_MS) break;
        known.delete(other);
      }
      return Math.floor(askedAt - since);
    },
    forget: (name) => void known.delete(name),
  };
}
