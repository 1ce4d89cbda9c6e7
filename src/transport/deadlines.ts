/** Deadlines without a timer per request: one coarse clock watches all that are running. */

const TICK = 50;

export interface Deadline {
  /** Moves the moment it fires, in milliseconds from now; `Infinity` stops it until it is moved again. */
  in(milliseconds: number): void;
  cancel(): void;
}

interface Entry {
  due: number;
  fire(): void;
}

const entries = new Set<Entry>();
let clock: NodeJS.Timeout | undefined;
let lastTick = 0;

/** Calls `fire` each time the deadline passes, up to 50 ms late; the caller cancels it or moves it on. */
export function watch(fire: () => void): Deadline {
  const entry: Entry = { due: Number.POSITIVE_INFINITY, fire };
  entries.add(entry);
  if (!clock) {
    lastTick = performance.now();
    clock = setInterval(tick, TICK).unref();
  }
  return {
    in: (milliseconds) => {
      entry.due = performance.now() + milliseconds;
    },
    cancel: () => {
      entries.delete(entry);
      if (entries.size > 0 || !clock) return;
      clearInterval(clock);
      clock = undefined;
    },
  };
}

/** Time in which this process itself stood still is nobody's silence: what arrived meanwhile has not been read yet. */
function tick(): void {
  const now = performance.now();
  const stalled = Math.max(0, now - lastTick - 2 * TICK);
  lastTick = now;
  for (const entry of entries) {
    entry.due += stalled;
    if (entry.due > now) continue;
    entry.due = Number.POSITIVE_INFINITY;
    entry.fire();
  }
}
