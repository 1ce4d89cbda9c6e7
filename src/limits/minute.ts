/** A limit by the minute: requests, or tokens. */

import type { Quota } from './quota.ts';
import { createWaitingLine } from './waiting-line.ts';

export interface MinuteOptions {
  /** What is limited, e.g. a key's requests. */
  subject: string;
  quota: Quota;
  now(): number;
}

/** What a client may know of its limit. */
export interface Standing {
  limit: number;
  remaining: number;
  /** Milliseconds until it is full again. */
  reset: number;
}

export interface Minute {
  /** Takes `amount` from the current minute. False, with nothing taken, when it is used up. */
  admit(amount: number, limit: number): Promise<boolean>;
  /** Corrects what was taken at `at` by a difference, which may exceed what is left. */
  correct(at: number, difference: number): void;
  standing(limit: number): Standing;
  /** When the current minute began, in Unix milliseconds. */
  at(): number;
}

const MINUTE = 60_000;

interface Taking {
  amount: number;
  limit: number;
}

export function createMinute({ subject, quota, now }: MinuteOptions): Minute {
  let windowAt = 0;
  /** Ours of this minute, of which `used` is gone. */
  let granted = 0;
  let used = 0;
  /** What other gateways took of it, as last heard. */
  let others = 0;

  function roll(): number {
    const at = Math.floor(now() / MINUTE) * MINUTE;
    if (at !== windowAt) [windowAt, granted, used, others] = [at, 0, 0, 0];
    return at;
  }

  const line = createWaitingLine<Taking>({
    take({ amount, limit }) {
      roll();
      if (used + amount > Math.min(granted, limit)) return false;
      used += amount;
      return true;
    },
    async ask(takings) {
      const at = roll();
      const limit = Math.max(...takings.map((taking) => taking.limit));
      const amount = takings.reduce((sum, taking) => sum + taking.amount, 0);
      const owed = Math.max(0, used - granted);
      const want = amount - Math.max(0, granted - used);
      const part = await quota.take({ subject, at, limit }, Math.max(want, quota.slice(limit)), owed);
      if (roll() !== at) return true;
      granted = Math.min(granted + owed + part.granted, limit);
      others = Math.max(0, part.taken - granted);
      return false;
    },
  });

  return {
    admit: (amount, limit) => line.enter({ amount, limit }),
    correct(at, difference) {
      if (at === roll()) used = Math.max(0, used + difference);
    },
    standing(limit) {
      const at = roll();
      return { limit, remaining: Math.max(0, limit - used - others), reset: at + MINUTE - now() };
    },
    at: roll,
  };
}
