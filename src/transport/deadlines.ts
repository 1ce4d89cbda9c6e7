/** Deadline timer: one coarse timer for all deadlines of a gateway, instead of a timer for each request. */

import type { Clock } from '../core/clock.ts';
import { type Linked, LinkedList } from '../core/linked-list.ts';

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
  /** Ends the deadline; it is never called again. */
  cancel(): void;
}

export function createDeadlineTimer(clock: Pick<Clock, 'monotonic' | 'after'>): DeadlineTimer {
  return new CoarseTimer(clock);
}

class CoarseTimer implements DeadlineTimer {
  readonly now: () => number;
  readonly #after: Clock['after'];
  readonly #deadlines = new LinkedList<WatchedDeadline>();
  /** No deadline passes before this time, so that most ticks look at none of them. */
  #earliest = Number.POSITIVE_INFINITY;
  #cancelTick: (() => void) | undefined;
  #lastTick = 0;
  #closed = false;

  constructor({ monotonic, after }: Pick<Clock, 'monotonic' | 'after'>) {
    this.now = monotonic;
    this.#after = after;
  }

  watch(onExpired: () => void): Deadline {
    const deadline = new WatchedDeadline(this, onExpired);
    this.#deadlines.add(deadline);
    if (!this.#cancelTick && !this.#closed) {
      this.#lastTick = this.now();
      this.#schedule();
    }
    return deadline;
  }

  close(): void {
    this.#closed = true;
    this.#stop();
  }

  expect(due: number): void {
    if (due < this.#earliest) this.#earliest = due;
  }

  forget(deadline: WatchedDeadline): void {
    this.#deadlines.delete(deadline);
  }

  #schedule(): void {
    this.#cancelTick = this.#after(TICK_MS, () => this.#tick());
  }

  #stop(): void {
    this.#cancelTick?.();
    this.#cancelTick = undefined;
  }

  /**
   * Time in which this process was blocked or suspended is no silence of an upstream: bytes that arrived meanwhile are unread. Without
   * deadlines it is the last tick, because a timer that is set and cleared with each request costs more.
   */
  #tick(): void {
    if (this.#deadlines.size === 0) {
      this.#cancelTick = undefined;
      return;
    }
    const now = this.now();
    const stalled = Math.max(0, now - this.#lastTick - 2 * TICK_MS);
    this.#lastTick = now;
    this.#schedule();
    if (stalled > 0 || this.#earliest <= now) this.#look(now, stalled);
  }

  #look(now: number, stalled: number): void {
    this.#earliest = Number.POSITIVE_INFINITY;
    const expired: WatchedDeadline[] = [];
    for (const deadline of this.#deadlines) {
      deadline.due += stalled;
      if (deadline.due > now) this.expect(deadline.due);
      else expired.push(deadline);
    }
    expired.sort((one, other) => one.due - other.due);
    for (const deadline of expired) {
      // One that expired before it may have removed it or moved it on.
      if (!this.#deadlines.has(deadline) || deadline.due > now) continue;
      deadline.due = Number.POSITIVE_INFINITY;
      deadline.onExpired();
    }
  }
}

class WatchedDeadline implements Deadline, Linked<WatchedDeadline> {
  previous: WatchedDeadline | undefined;
  next: WatchedDeadline | undefined;
  readonly #timer: CoarseTimer;
  readonly onExpired: () => void;
  due = Number.POSITIVE_INFINITY;

  constructor(timer: CoarseTimer, onExpired: () => void) {
    this.#timer = timer;
    this.onExpired = onExpired;
  }

  in(milliseconds: number): void {
    this.due = this.#timer.now() + milliseconds;
    this.#timer.expect(this.due);
  }

  cancel(): void {
    this.#timer.forget(this);
  }
}
