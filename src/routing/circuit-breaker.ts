/** Circuit breaker per endpoint: closed, open for a cooldown after failures, then half-open with a single probe request. */

import type { GatewayError } from '../core/errors.ts';
import { MAX_RETRY_AFTER_MS } from '../core/fields.ts';

interface OpenState {
  type: 'open';
  until: number;
  cooldownMs: number;
  cause: string;
}

interface ClosedState {
  type: 'closed';
  failures: number;
  /** Time of the last failure; -Infinity for a circuit that a running probe has closed. */
  at: number;
  cause: string;
  /** Cooldown before that probe. */
  cooldownMs?: number;
}

type BreakerState = ClosedState | OpenState | { type: 'half-open'; cooldownMs: number; cause: string };

/** Reason for which an endpoint is skipped. `milliseconds` is absent while a probe is in flight. */
export interface Cooldown {
  cause: string;
  milliseconds?: number;
}

/** A circuit that has opened. */
export interface OpenCircuit {
  /** `<provider>/<upstream model>#<credential>`. */
  id: string;
  cause: string;
  /** Cooldown in milliseconds. */
  milliseconds: number;
}

/** State of an endpoint that failed. */
export interface CircuitState {
  id: string;
  /** `closed` after fewer failures than open the circuit; `half-open` also after a cooldown, when the next request is the probe. */
  state: BreakerState['type'];
  cause: string;
  /** Milliseconds that are left of the cooldown of an open circuit. */
  milliseconds?: number;
}

/** An attempt at an endpoint. Exactly one of the other methods is called when it ends. */
export interface TrackedAttempt {
  /** The answer has begun: its end may be minutes away, and does not keep others waiting for a probe. */
  readonly answers: () => void;
  succeeded(): void;
  /** The upstream is at fault. Returns the milliseconds of the cooldown, if this opens the circuit. */
  failed(error: GatewayError): number | undefined;
  /** No result: the client disconnected. */
  abandoned(): void;
}

export interface CircuitBreaker {
  /** Undefined when the endpoint may be used. */
  cooldown(id: string): Cooldown | undefined;
  /** Ids of endpoints in cooldown. */
  inCooldown(): string[];
  /** True if the endpoint failed in the last 30 s and its circuit is still closed. */
  failedRecently(id: string): boolean;
  /** Begins an attempt at an endpoint; the first one after a cooldown is the probe. */
  begin(id: string): TrackedAttempt;
  /** Endpoints that failed lately, with their states; at most 10,000. */
  failures(): CircuitState[];
  /** Opens a circuit that another process of the gateway has opened. A cooldown that ends later stays. */
  adopt(circuit: OpenCircuit): void;
}

export interface CircuitBreakerOptions {
  /** Initial cooldown in milliseconds; each failed probe doubles it. */
  cooldown: () => number;
  /** Monotonic milliseconds. */
  now: () => number;
  onCooldown?(circuit: OpenCircuit): void;
  /** An attempt has ended; `error` where the upstream is at fault. */
  onEnded?(id: string, error?: GatewayError): void;
}

/** Consecutive failures that open the circuit. A 403, a 429, a 529 or a `retry-after` opens it at once. */
const FAILURE_THRESHOLD = 3;
/** Time for which a failed endpoint ranks behind the others. */
const RECENT_FAILURE_MS = 30_000;
const MAX_COOLDOWN_MS = 5 * 60_000;
/** An upstream that asks for no pause would be asked by every request, at the cost of the retry budget. */
const MIN_COOLDOWN_MS = 1000;
/** Refusals of a model to an account, and overload: the next request would have the same answer. */
const OPENING_STATUSES = [403, 429, 529];
/** Bounds memory: of more endpoints with failures, the one that failed first is forgotten. */
const MAX_ENDPOINTS = 10_000;

function doubled(cooldownMs: number): number {
  return Math.min(cooldownMs * 2, MAX_COOLDOWN_MS);
}

export function createCircuitBreaker({ cooldown, now, onCooldown, onEnded }: CircuitBreakerOptions): CircuitBreaker {
  const states = new Map<string, BreakerState>();

  function store(id: string, state: BreakerState): void {
    states.set(id, state);
    const [oldest] = states.size > MAX_ENDPOINTS ? states.keys() : [];
    if (oldest !== undefined) states.delete(oldest);
  }

  function open(error: GatewayError, cooldownMs: number): OpenState {
    const { retryAfter } = error;
    const least = Math.min(cooldownMs, MIN_COOLDOWN_MS);
    const duration = retryAfter === undefined ? cooldownMs : Math.max(least, Math.min(retryAfter, MAX_RETRY_AFTER_MS));
    return { type: 'open', until: now() + duration, cooldownMs, cause: error.code };
  }

  function afterFailure(state: BreakerState | undefined, error: GatewayError): BreakerState {
    const { code, upstreamStatus = 0, retryAfter } = error;
    switch (state?.type) {
      case 'half-open':
        return open(error, doubled(state.cooldownMs));
      case 'open': {
        const next = open(error, state.cooldownMs);
        return next.until > state.until && retryAfter !== undefined ? next : state;
      }
      case 'closed':
      case undefined: {
        const failures = (state?.failures ?? 0) + 1;
        const opens =
          failures >= FAILURE_THRESHOLD || OPENING_STATUSES.includes(upstreamStatus) || retryAfter !== undefined;
        if (!opens) return { type: 'closed', failures, at: now(), cause: code };
        return open(error, state?.cooldownMs === undefined ? cooldown() : doubled(state.cooldownMs));
      }
    }
  }

  const isInCooldown = (state: BreakerState) =>
    state.type === 'half-open' || (state.type === 'open' && state.until > now());

  return {
    inCooldown: () => [...states].filter(([, state]) => isInCooldown(state)).map(([id]) => id),
    cooldown(id) {
      const state = states.get(id);
      if (state?.type === 'half-open') return { cause: state.cause };
      if (state?.type !== 'open' || state.until <= now()) return undefined;
      return { cause: state.cause, milliseconds: state.until - now() };
    },
    failedRecently(id) {
      const state = states.get(id);
      return state?.type === 'closed' && now() - state.at < RECENT_FAILURE_MS;
    },
    failures() {
      return [...states].flatMap(([id, state]): CircuitState[] => {
        const { type, cause } = state;
        if (type === 'closed' && now() - state.at >= RECENT_FAILURE_MS) return [];
        if (type !== 'open') return [{ id, state: type, cause }];
        const milliseconds = state.until - now();
        return milliseconds > 0 ? [{ id, state: type, cause, milliseconds }] : [{ id, state: 'half-open', cause }];
      });
    },
    adopt({ id, cause, milliseconds }) {
      const state = states.get(id);
      const until = now() + milliseconds;
      if (state?.type === 'open' && state.until >= until) return;
      store(id, { type: 'open', until, cooldownMs: state?.type === 'open' ? state.cooldownMs : cooldown(), cause });
    },
    begin(id) {
      const before = states.get(id);
      const probe = before?.type === 'open' && before.until <= now();
      if (probe) states.set(id, { type: 'half-open', cooldownMs: before.cooldownMs, cause: before.cause });
      return {
        answers() {
          if (!probe || states.get(id)?.type !== 'half-open') return;
          const { cooldownMs, cause } = before;
          const failures = FAILURE_THRESHOLD - 1;
          states.set(id, { type: 'closed', failures, at: Number.NEGATIVE_INFINITY, cause, cooldownMs });
        },
        succeeded() {
          onEnded?.(id);
          const state = states.get(id);
          // A success that started before the circuit opened does not close it.
          if (state?.type === 'open' && state !== before) return;
          if (state?.type !== 'half-open' || probe) states.delete(id);
        },
        failed(error) {
          onEnded?.(id, error);
          const state = states.get(id);
          if (state?.type === 'half-open' && !probe) return undefined;
          const next = afterFailure(state, error);
          store(id, next);
          if (next.type !== 'open' || state?.type === 'open') return undefined;
          const milliseconds = next.until - now();
          onCooldown?.({ id, cause: next.cause, milliseconds });
          return milliseconds;
        },
        abandoned() {
          if (probe && states.get(id)?.type === 'half-open') states.set(id, before);
        },
      };
    },
  };
}
