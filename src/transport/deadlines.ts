/** Deadline timer: one coarse timer for all deadlines of a gateway, instead of a timer for each request. */

import type { Clock } from '../core/clock.ts';

const TICK_MS = 50;

export interface DeadlineTimer {
  /** Milliseconds since an arbitrary moment, by the clock of the deadlines. */
  now(): number;
  /** Calls `onExpired` each time the deadline passes, up to 50 ms late; the caller cancels it or moves it on. */
  watch(onExpired: () => void): Deadline;
  /** Lets no further deadline pass. */
  close(): void;
}

export interface Deadline {
  /** Moves the moment of expiry, in milliseconds from now; `Infinity` stops it until it is moved again. */
  in(milliseconds: number): void;
  cancel(): void;
}

interface Entry {
  due: number;
  onExpired(): void;
}

export function createDeadlineTimer(clock: Pick<Clock, 'monotonic' | 'after'>): DeadlineTimer {
  const entries = new Set<Entry>();
  let cancelTick: (() => void) | undefined;
  let lastTick = 0;
  let closed = false;

  function start(): void {
    if (cancelTick || closed) return;
    lastTick = clock.monotonic();
    cancelTick = clock.after(TICK_MS, tick);
  }

  function stop(): void {
    cancelTick?.();
    cancelTick = undefined;
  }

  /** Time in which this process itself stood still is no silence of an upstream: what arrived meanwhile is still unread. */
  function tick(): void {
    const now = clock.monotonic();
    const stalled = Math.max(0, now - lastTick - 2 * TICK_MS);
    lastTick = now;
    cancelTick = clock.after(TICK_MS, tick);
    for (const entry of entries) {
      entry.due += stalled;
      if (entry.due > now) continue;
      entry.due = Number.POSITIVE_INFINITY;
      entry.onExpired();
    }
  }

  return {
    now: clock.monotonic,
    watch(onExpired) {
      const entry: Entry = { due: Number.POSITIVE_INFINITY, onExpired };
      entries.add(entry);
      start();
      return {
        in(milliseconds) {
          entry.due = clock.monotonic() + milliseconds;
        },
        cancel() {
          entries.delete(entry);
          if (entries.size === 0) stop();
        },
      };
    },
    close() {
      closed = true;
      stop();
    },
  };
}
