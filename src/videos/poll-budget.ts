/** How many polls a credential may make: after a restart thousands of tasks are due at once, and each gets a moment of its own. */

export interface PollBudgetOptions {
  /** Polls of one credential in a second, and how many at once after a pause. */
  rate: number;
  burst: number;
  /** How many share that: each keeps to its part. 1 if absent. */
  gateways?(): number;
}

export interface PollBudget {
  /** Unix milliseconds at which the task may be polled: `now`, or the moment that is reserved for it. */
  reserve(lane: string, task: string, now: number): number;
}

interface Lane {
  /** When the next free moment is, if nothing came between. */
  next: number;
  reserved: Map<string, number>;
  /** How far all moments have moved because some could not be kept: what is late is not made up for all at once. */
  shift: number;
}

export function createPollBudget({ rate, burst, gateways = () => 1 }: PollBudgetOptions): PollBudget {
  const lanes = new Map<string, Lane>();
  const interval = 1000 / rate;
  const slack = burst * interval;

  function laneOf(name: string): Lane {
    const known = lanes.get(name);
    if (known) return known;
    const fresh = { next: 0, reserved: new Map<string, number>(), shift: 0 };
    lanes.set(name, fresh);
    return fresh;
  }

  function nextSlot(lane: Lane, now: number): number {
    lane.next = Math.max(lane.next, now - lane.shift - slack) + interval * gateways();
    return lane.next;
  }

  return {
    reserve(name, task, now) {
      const lane = laneOf(name);
      const reserved = lane.reserved.get(task) ?? nextSlot(lane, now);
      const moment = Math.ceil(reserved + lane.shift);
      if (moment > now) {
        lane.reserved.set(task, reserved);
        dropStale(lane, now);
        return moment;
      }
      lane.reserved.delete(task);
      lane.shift += Math.max(0, now - moment - slack);
      return now;
    },
  };
}

/** Moments of tasks that ended meanwhile are given up; in order, so that few are looked at. */
function dropStale(lane: Lane, now: number): void {
  for (const [task, moment] of lane.reserved) {
    if (moment + lane.shift > now - 600_000) return;
    lane.reserved.delete(task);
  }
}
