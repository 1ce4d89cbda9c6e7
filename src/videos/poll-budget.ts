/** Poll budget: rate limit per credential. After a restart thousands of tasks are due at once; each gets its own slot. */

export interface PollBudgetOptions {
  /** Polls per second and credential, and the burst after an idle period. */
  rate: number;
  burst: number;
  /** Number of gateways that share the rate equally; 1 if absent. */
  gateways?(): number;
}

export interface PollBudget {
  /** Unix milliseconds at which the task may be polled: `now`, or the slot reserved for it. */
  reserve(lane: string, task: string, now: number): number;
}

interface Lane {
  /** Time of the last reserved slot, without the shift. */
  next: number;
  reserved: Map<string, number>;
  /** Delay of all slots because some were missed: missed slots are not made up for in a burst. */
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

/** Drops the slots of ended tasks. Slots are in order, so the scan stops at the first recent one. */
function dropStale(lane: Lane, now: number): void {
  for (const [task, moment] of lane.reserved) {
    if (moment + lane.shift > now - 600_000) return;
    lane.reserved.delete(task);
  }
}
