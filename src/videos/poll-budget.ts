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
  /** Number of free slots by lane, and of a lane without any reservation so far. */
  free(now: number): { lanes: Record<string, number>; unlisted: number };
  /** Takes a slot for a task that is going to be polled; its next reservation gives `now`. */
  take(lane: string, task: string, now: number): void;
}

interface Lane {
  /** Time of the last reserved slot, without the shift. */
  next: number;
  reserved: Map<string, number>;
  /** Time at which a slot was taken for a task that was not polled yet. */
  taken: Map<string, number>;
  /** Delay of all slots because some were missed: missed slots are not made up for in a burst. */
  shift: number;
}

/** Difference from which the clock is taken to have been set back. */
const CLOCK_JUMP_MS = 1_000;

export function createPollBudget({ rate, burst, gateways = () => 1 }: PollBudgetOptions): PollBudget {
  const lanes = new Map<string, Lane>();
  const interval = 1000 / rate;
  const slack = burst * interval;
  let latest = 0;

  /** Where the clock was set back, slots keep their delays, as jobs do. */
  function follow(now: number): void {
    const by = latest - now;
    latest = now;
    if (by < CLOCK_JUMP_MS) return;
    for (const lane of lanes.values()) {
      lane.next -= by;
      for (const slots of [lane.reserved, lane.taken]) for (const [task, moment] of slots) slots.set(task, moment - by);
    }
  }

  function laneOf(name: string): Lane {
    const known = lanes.get(name);
    if (known) return known;
    const fresh = { next: 0, reserved: new Map<string, number>(), taken: new Map<string, number>(), shift: 0 };
    lanes.set(name, fresh);
    return fresh;
  }

  function nextSlot(lane: Lane, now: number): number {
    lane.next = Math.max(lane.next, now - lane.shift - slack) + interval * gateways();
    return lane.next;
  }

  function freeSlots({ next, shift }: Pick<Lane, 'next' | 'shift'>, now: number): number {
    return Math.max(0, Math.floor((now - shift - Math.max(next, now - shift - slack)) / (interval * gateways())));
  }

  return {
    free(now) {
      follow(now);
      return {
        lanes: Object.fromEntries([...lanes].map(([name, lane]) => [name, freeSlots(lane, now)])),
        unlisted: freeSlots({ next: 0, shift: 0 }, now),
      };
    },
    take(name, task, now) {
      follow(now);
      const lane = laneOf(name);
      if (!lane.reserved.has(task) && !lane.taken.has(task)) nextSlot(lane, now);
      lane.taken.set(task, now);
      dropStale(lane.taken, now);
    },
    reserve(name, task, now) {
      follow(now);
      const lane = laneOf(name);
      if (lane.taken.delete(task)) {
        lane.reserved.delete(task);
        return now;
      }
      const reserved = lane.reserved.get(task) ?? nextSlot(lane, now);
      const moment = Math.ceil(reserved + lane.shift);
      if (moment > now) {
        lane.reserved.set(task, reserved);
        dropStale(lane.reserved, now - lane.shift);
        return moment;
      }
      lane.reserved.delete(task);
      lane.shift += Math.max(0, now - moment - slack);
      return now;
    },
  };
}

/** Age from which the slot of a task that was not polled is dropped. */
const STALE_SLOT_MS = 600_000;

/** Drops the slots of ended tasks. Slots are in order, so the scan stops at the first recent one. */
function dropStale(slots: Map<string, number>, now: number): void {
  for (const [task, moment] of slots) {
    if (moment > now - STALE_SLOT_MS) return;
    slots.delete(task);
  }
}
