/** `x-ratelimit-*` headers. */

import type { WindowState } from './minute-window.ts';

/** Headers of the tightest of several limits. */
export function rateLimitFields(kind: string, states: WindowState[]): Record<string, string> {
  const [tightest] = states.toSorted((one, other) => one.remaining - other.remaining);
  if (!tightest) return {};
  return {
    [`x-ratelimit-limit-${kind}`]: String(tightest.limit),
    [`x-ratelimit-remaining-${kind}`]: String(tightest.remaining),
    [`x-ratelimit-reset-${kind}`]: `${Math.ceil(tightest.reset / 1000)}s`,
  };
}
