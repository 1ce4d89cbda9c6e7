/** Which endpoints failed lately: these rest, and come back by one request that tries whether they work again. */

import { monotonicNow } from '../core/clock.ts';
import type { GatewayError } from '../core/errors.ts';

type State =
  | { type: 'failing'; failures: number; at: number; cause: string }
  | { type: 'resting'; until: number; rest: number; cause: string }
  | { type: 'probing'; rest: number; cause: string };

/** Why an endpoint is not to be used now. `milliseconds` is absent while a probe is on its way. */
export interface Cooldown {
  cause: string;
  milliseconds?: number;
}

/** One use of an endpoint; exactly one of these is called at its end. */
export interface Trial {
  succeeded(): void;
  /** The upstream is at fault. */
  failed(error: GatewayError): void;
  /** Nothing was learned: the client left. */
  abandoned(): void;
}

export interface CircuitBreaker {
  /** Undefined when the endpoint may be used. */
  cooldown(id: string): Cooldown | undefined;
  /** It failed within the last half minute, but works as far as is known. */
  failedLately(id: string): boolean;
  begin(id: string): Trial;
}

export interface CircuitBreakerOptions {
  /** Milliseconds of the first rest; each failed probe doubles it. */
  cooldown: () => number;
  now?: () => number;
  /** Hears of an endpoint that goes to rest. */
  onCooldown?(id: string): void;
}

/** Failures in a row after which an endpoint rests; one that says it is overloaded rests at once. */
const PATIENCE = 3;
/** Milliseconds for which a failure makes an endpoint come last. */
const LATELY = 30_000;
const LONGEST_REST = 5 * 60_000;
/** An upstream's own word is taken further. */
const LONGEST_ASKED_REST = 60 * 60_000;
const OVERLOADED = [429, 529];

export function createCircuitBreaker({
  cooldown,
  now = monotonicNow,
  onCooldown,
}: CircuitBreakerOptions): CircuitBreaker {
  const states = new Map<string, State>();

  function resting(error: GatewayError, rest: number): State {
    const asked = error.retryAfter === undefined ? rest : Math.min(error.retryAfter, LONGEST_ASKED_REST);
    return { type: 'resting', until: now() + asked, rest, cause: error.code };
  }

  function afterFailure(state: State | undefined, error: GatewayError): State {
    const { code, upstreamStatus = 0, retryAfter } = error;
    switch (state?.type) {
      case 'probing':
        return resting(error, Math.min(state.rest * 2, LONGEST_REST));
      case 'resting': {
        const next = resting(error, state.rest);
        return next.type === 'resting' && next.until > state.until && retryAfter !== undefined ? next : state;
      }
      case 'failing':
      case undefined: {
        const failures = (state?.failures ?? 0) + 1;
        const rests = failures >= PATIENCE || OVERLOADED.includes(upstreamStatus) || retryAfter !== undefined;
        return rests ? resting(error, cooldown()) : { type: 'failing', failures, at: now(), cause: code };
      }
    }
  }

  return {
    cooldown(id) {
      const state = states.get(id);
      if (state?.type === 'probing') return { cause: state.cause };
      if (state?.type !== 'resting' || state.until <= now()) return undefined;
      return { cause: state.cause, milliseconds: state.until - now() };
    },
    failedLately(id) {
      const state = states.get(id);
      return state?.type === 'failing' && now() - state.at < LATELY;
    },
    begin(id) {
      const before = states.get(id);
      const probe = before?.type === 'resting' && before.until <= now();
      if (probe) states.set(id, { type: 'probing', rest: before.rest, cause: before.cause });
      return {
        succeeded() {
          const state = states.get(id);
          // An answer that was on its way before the rest began says nothing of what is asked now.
          if (state?.type === 'resting' && state !== before) return;
          if (state?.type !== 'probing' || probe) states.delete(id);
        },
        failed(error) {
          const state = states.get(id);
          if (state?.type === 'probing' && !probe) return;
          const next = afterFailure(state, error);
          states.set(id, next);
          if (next.type === 'resting' && state?.type !== 'resting') onCooldown?.(id);
        },
        abandoned() {
          if (probe && states.get(id)?.type === 'probing') states.set(id, before);
        },
      };
    },
  };
}
