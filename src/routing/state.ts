/** What the gateway knows of its endpoints from the calls it made; outlives a reload of the configuration. */

import { monotonicNow } from '../core/clock.ts';
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts';
import { type ConversationBindings, createConversationBindings } from './conversation-bindings.ts';
import { createLatencyStatistics, type LatencyStatistics } from './latency-statistics.ts';
import { createRetryBudget, type RetryBudget } from './retry-budget.ts';

export interface RoutingState {
  breaker: CircuitBreaker;
  statistics: LatencyStatistics;
  retries: RetryBudget;
  bindings: ConversationBindings;
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
    statistics: createLatencyStatistics(now),
    retries: createRetryBudget(now),
    bindings: createConversationBindings(now),
  };
}

/** Answers that stream and answers in one piece have each their own speed. */
export function statisticsKey(id: string, stream: boolean): string {
  return stream ? `${id} streamed` : id;
}
