/** A limit by the minute: requests, or tokens. */

import { createFairQueue } from './fair-queue.ts';
import type { Quota } from './quota.ts';

export interface MinuteWindowOptions {
  /** What is limited, e.g. a key's requests. */
  subject: string;
  quota: Quota;
  now(): number;
}

/** What a client may know of its limit. */
export interface WindowState {
  limit: number;
  remaining: number;
  /** Milliseconds until it is full again. */
  reset: number;
}

export interface MinuteWindow {
  /** Takes `amount` from the current minute. False, with nothing taken, when it is used up. */
  admit(amount: number, limit: number): Promise<boolean>;
  /** Corrects what was taken at `at` by a difference, which may exceed what is left. */
  correct(at: number, difference: number): void;
  state(limit: number): WindowState;
  /** When the current minute began, in Unix milliseconds. */
  at(): number;
}

const WINDOW_MS = 60_000;

interface WindowRequest {
  amount: number;
  limit: number;
}

export function createMinuteWindow({ subject, quota, now }: MinuteWindowOptions): MinuteWindow {
  let windowAt = 0;
  /** Ours of this minute, of which `used` is gone. */
  let granted = 0;
  let used = 0;
  /** What other gateways took of it, as last heard. */
  let takenByOthers = 0;

  function currentWindow(): number {
    const at = Math.floor(now() / WINDOW_MS) * WINDOW_MS;
    if (at !== windowAt) [windowAt, granted, used, takenByOthers] = [at, 0, 0, 0];
    return at;
  }

  const queue = createFairQueue<WindowRequest>({
    tryTake({ amount, limit }) {
      currentWindow();
      if (used + amount > Math.min(granted, limit)) return false;
      used += amount;
      return true;
    },
    async request(takings) {
      const at = currentWindow();
      const limit = Math.max(...takings.map((taking) => taking.limit));
      const amount = takings.reduce((sum, taking) => sum + taking.amount, 0);
      const alreadyUsed = Math.max(0, used - granted);
      const want = amount - Math.max(0, granted - used);
      const part = await quota.take({ subject, at, limit }, Math.max(want, quota.slice(limit)), alreadyUsed);
      if (currentWindow() !== at) return true;
      granted = Math.min(granted + alreadyUsed + part.granted, limit);
      takenByOthers = Math.max(0, part.taken - granted);
      return false;
    },
  });

  return {
    admit: (amount, limit) => queue.acquire({ amount, limit }),
    correct(at, difference) {
      if (at === currentWindow()) used = Math.max(0, used + difference);
    },
    state(limit) {
      const at = currentWindow();
      return { limit, remaining: Math.max(0, limit - used - takenByOthers), reset: at + WINDOW_MS - now() };
    },
    at: currentWindow,
  };
}
