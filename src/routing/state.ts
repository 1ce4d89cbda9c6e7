/** Routing state: circuit breakers, statistics, attempts, retry budget, bindings and absent protocols; survives a reload of the configuration. */

import { monotonicNow } from '../core/clock.ts';
import { type AbsentProtocols, createAbsentProtocols } from './absent-protocols.ts';
import { type AttemptLog, createAttemptLog } from './attempt-log.ts';
import { type CircuitBreaker, createCircuitBreaker, type OpenCircuit } from './circuit-breaker.ts';
import { type ConversationBindings, createConversationBindings } from './conversation-bindings.ts';
import { createLatencyStatistics, type LatencyStatistics } from './latency-statistics.ts';
import { createRetryBudget, type RetryBudget } from './retry-budget.ts';

export interface RoutingState {
  breaker: CircuitBreaker;
  statistics: LatencyStatistics;
  attempts: AttemptLog;
  retries: RetryBudget;
  bindings: ConversationBindings;
  absent: AbsentProtocols;
}

export interface RoutingStateOptions {
  /** Initial cooldown in milliseconds. */
  cooldown: () => number;
  now?: () => number;
  onCooldown?(circuit: OpenCircuit): void;
}

export function createRoutingState({ cooldown, now = monotonicNow, onCooldown }: RoutingStateOptions): RoutingState {
  const attempts = createAttemptLog(now);
  return {
    breaker: createCircuitBreaker({
      cooldown,
      now,
      onCooldown,
      onEnded: (id, error) => attempts.count(id, error?.code),
    }),
    statistics: createLatencyStatistics(now),
    attempts,
    retries: createRetryBudget(now),
    bindings: createConversationBindings(now),
    absent: createAbsentProtocols(now),
  };
}

/** Streamed and whole responses are measured separately. */
export function statisticsKey(id: string, stream: boolean): string {
  return stream ? `${id} streamed` : id;
}
