/** What the gateway knows of its endpoints from the calls it made; outlives a reload of the configuration. */

import { monotonicNow } from '../core/clock.ts';
import { type Bindings, createBindings } from '../routing/bindings.ts';
import { createHealth, type Health } from '../routing/health.ts';
import { createRetryBudget, type RetryBudget } from '../routing/retry-budget.ts';
import { createStatistics, type Statistics } from '../routing/statistics.ts';

export interface RoutingState {
  health: Health;
  statistics: Statistics;
  retries: RetryBudget;
  bindings: Bindings;
}

export interface RoutingStateOptions {
  /** Milliseconds that an endpoint rests after failures. */
  cooldown: () => number;
  now?: () => number;
  /** Hears of an endpoint, `<provider>/<upstream model>#<credential>`, that goes to rest. */
  onRest?(id: string): void;
}

export function createRoutingState({ cooldown, now = monotonicNow, onRest }: RoutingStateOptions): RoutingState {
  return {
    health: createHealth({ cooldown, now, onRest }),
    statistics: createStatistics(now),
    retries: createRetryBudget(now),
    bindings: createBindings(now),
  };
}

/** Answers that stream and answers in one piece have each their own speed. */
export function measuredAs(id: string, stream: boolean): string {
  return stream ? `${id} streamed` : id;
}
