/** Reservations of operations without text output. */

import { maxCostOf } from '../../catalog/max-cost.ts';
import { maxBigInt } from '../../core/money.ts';
import type { RoutingDecision } from '../../routing/decision.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { ExpectedUsage } from '../tokens/expected-usage.ts';
import type { Reservation } from '../tokens/reservation.ts';

const NO_LIMITS = () => () => ({ tokens: 0, answers: 1, isExplicit: false });

export function nothingReserved(): Reservation {
  return { tokens: 0, cost: 0n, limitsFor: NO_LIMITS };
}

/** The input at the highest price of the candidates. */
export function inputReserved(
  _call: InferenceCall,
  { candidates }: Pick<RoutingDecision, 'candidates'>,
  expected: ExpectedUsage,
): Reservation {
  const costs = candidates.map(({ endpoint }) => maxCostOf(endpoint.model, { ...expected, output: 0 }));
  return { tokens: expected.input, cost: maxBigInt(0n, ...costs), limitsFor: NO_LIMITS };
}
