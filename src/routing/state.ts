/** What the gateway knows of its endpoints from the calls it made; outlives a reload of the configuration. */

import { monotonicNow } from '../core/clock.ts';
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts';
import { type Bindings, createBindings } from './conversation-bindings.ts';
import { createStatistics, type Statistics } from './latency-statistics.ts';
import { createRetryBudget, type RetryBudget } from './retry-budget.ts';

export interface RoutingState {
  breaker: CircuitBreaker;
  statistics: Statistics;
  retries: RetryBudget;
  bindings: Bindings;
}

export interface RoutingStateOptions {
  /** Milliseconds that an endpoint rests after failures. */
  cooldown: () => number;
  now?: () => number;
  /** Hears of an endpoint, `<provider>/<upstream model>#<credential>`, that goes to rest. */
  onCooldown?(id: string): void;
}

export function createRoutingState({ cooldown, now = monotonicNow, onCooldown }: RoutingStateOptions): RoutingState {
  return {
    breaker: createCircuitBreaker({ cooldown, now, onCooldown }),
    statistics: createStatistics(now),
    retries: createRetryBudget(now),
    bindings: createBindings(now),
  };
}

/** Answers that stream and answers in one piece have each their own speed. */
export function measuredAs(id: string, stream: boolean): string {
  return stream ? `${id} streamed` : id;
}
