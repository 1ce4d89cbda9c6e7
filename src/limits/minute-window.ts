/** Fixed one-minute window of a limit of requests or tokens. */

import { createFairQueue } from './fair-queue.ts';
import type { Quota } from './quota.ts';

export const MINUTE_KINDS = ['requests', 'tokens'] as const;
export type MinuteKind = (typeof MINUTE_KINDS)[number];

export interface MinuteWindowOptions {
  /** Name of the limit, e.g. the requests of a key. */
  name: string;
  quota: Quota;
  /** Unix milliseconds. */
  now(): number;
}

/** State of a limit, as shown to clients. */
export interface WindowState {
  limit: number;
  remaining: number;
  /** Milliseconds until the window ends. */
  reset: number;
}

export interface MinuteWindow {
  /** Takes `amount` from the current window. False, with nothing taken, if too little is left. */
  admit(amount: number, limit: number): Promise<boolean> | true;
  /** Adjusts the amount taken in the window `at`; the difference may exceed the rest. */
  correct(at: number, difference: number): void;
  /** State of the current window; use by other gateways is as of the last store call. */
  state(limit: number): WindowState;
  /** Start of the current window, in Unix milliseconds. */
  at(): number;
  /** Start of the last window in which something was counted or asked. */
  readonly lastAt: number;
}

const WINDOW_MS = 60_000;

interface WindowRequest {
  amount: number;
  limit: number;
}

export function createMinuteWindow({ name, quota, now }: MinuteWindowOptions): MinuteWindow {
  let windowAt = 0;
  /** Share of this gateway in the window, of which `used` is consumed. */
  let granted = 0;
  let used = 0;
  /** Amount taken by other gateways, as of the last store call. */
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
    async request(requests) {
      const at = currentWindow();
      const limit = Math.max(...requests.map((one) => one.limit));
      const amount = requests.reduce((sum, one) => sum + one.amount, 0);
      const alreadyUsed = Math.max(0, used - granted);
      const want = amount - Math.max(0, granted - used);
      const part = await quota.take({ name, at, limit }, Math.max(want, quota.slice(limit)), alreadyUsed);
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
    get lastAt() {
      return windowAt;
    },
  };
}

/** Sets the `x-ratelimit-*` headers of a limit. */
export function setRateLimit(
  headers: Record<string, string>,
  kind: MinuteKind,
  { limit, remaining, reset }: WindowState,
): void {
  headers[`x-ratelimit-limit-${kind}`] = String(limit);
  headers[`x-ratelimit-remaining-${kind}`] = String(remaining);
  headers[`x-ratelimit-reset-${kind}`] = `${Math.ceil(reset / 1000)}s`;
}
