/** How many polls a credential may make: after a restart thousands of tasks are due at once, and each gets a moment of its own. */

export interface BudgetOptions {
  /** Polls of one credential in a second, and how many at once after a pause. */
  rate: number;
  burst: number;
}

export interface Budget {
  /** Unix milliseconds at which the task may be polled: `now`, or the moment that is reserved for it. */
  take(lane: string, task: string, now: number): number;
}

interface Lane {
  /** When the next free moment is, if nothing came between. */
  next: number;
  reserved: Map<string, number>;
}

export function createBudget({ rate, burst }: BudgetOptions): Budget {
  const lanes = new Map<string, Lane>();
  const interval = 1000 / rate;

  function laneOf(name: string): Lane {
    const known = lanes.get(name);
    if (known) return known;
    const fresh = { next: 0, reserved: new Map<string, number>() };
    lanes.set(name, fresh);
    return fresh;
  }

  return {
    take(name, task, now) {
      const lane = laneOf(name);
      const reserved = lane.reserved.get(task);
      if (reserved !== undefined) {
        if (reserved > now) return reserved;
        lane.reserved.delete(task);
        return now;
      }
      const moment = Math.max(lane.next, now - burst * interval) + interval;
      lane.next = moment;
      if (moment <= now) return now;
      lane.reserved.set(task, Math.ceil(moment));
      forget(lane, now);
      return Math.ceil(moment);
    },
  };
}

/** Moments of tasks that ended meanwhile are given up; in order, so that few are looked at. */
function forget(lane: Lane, now: number): void {
  for (const [task, moment] of lane.reserved) {
    if (moment > now - 600_000) return;
    lane.reserved.delete(task);
  }
}
