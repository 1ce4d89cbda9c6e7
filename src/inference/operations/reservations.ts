/** Reservations of operations whose output no member of a request limits. */

import { costBoundsOf, maxCostOf, type PricedModel } from '../../catalog/max-cost.ts';
import { possiblePrices } from '../../catalog/service-tiers.ts';
import type { CatalogModel } from '../../core/model.ts';
import { maxBigInt } from '../../core/money.ts';
import type { RoutingDecision } from '../../routing/decision.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { askedTier } from '../tokens/asked-tier.ts';
import type { ExpectedUsage } from '../tokens/expected-usage.ts';
import {
  DEFAULT_OUTPUT_TOKENS,
  isBilledLater,
  longestInput,
  MIN_UNKNOWN_COST,
  mayBeLonger,
  type Reservation,
  UNKNOWN_COST,
} from '../tokens/reservation.ts';

const NO_ROUND = () => ({ cost: 0n, minCost: 0n });
const NO_LIMITS = () => () => ({ tokens: 0, answers: 1, isExplicit: false });

export function nothingReserved(): Reservation {
  return { tokens: 0, cost: 0n, round: NO_ROUND, limitsFor: NO_LIMITS };
}

/** The input at the highest price of the candidates, for an operation without service tiers. */
export function inputReserved(_call: InferenceCall, decision: CandidateList, expected: ExpectedUsage): Reservation {
  return reservedWith(
    () => 0,
    ({ model }) => [model],
    decision,
    expected,
  );
}

/** The input, and as much output as is assumed of an answer without a limit. */
export function assumedOutputReserved(
  call: InferenceCall,
  decision: CandidateList,
  expected: ExpectedUsage,
): Reservation {
  return reservedWith(
    ({ maxOutput }) => Math.min(maxOutput || DEFAULT_OUTPUT_TOKENS, DEFAULT_OUTPUT_TOKENS),
    (endpoint) => possiblePrices(endpoint.model, askedTier(call, endpoint)),
    decision,
    expected,
  );
}

type CandidateList = Pick<RoutingDecision, 'candidates'>;

function reservedWith(
  outputOf: (model: CatalogModel) => number,
  pricedBy: (endpoint: Endpoint) => readonly PricedModel[],
  { candidates }: CandidateList,
  expected: ExpectedUsage,
): Reservation {
  const maxCost = (usageOf: (endpoint: Endpoint) => ExpectedUsage): bigint => {
    const costs = candidates.flatMap(({ endpoint }) => {
      const usage = usageOf(endpoint);
      return pricedBy(endpoint).map((model) => maxCostOf(costBoundsOf(model, usage), outputOf(endpoint.model)));
    });
    return maxBigInt(0n, ...costs);
  };
  const isUnknown = candidates.some(({ endpoint }) => isBilledLater(endpoint));
  const output = Math.max(0, ...candidates.map(({ endpoint }) => outputOf(endpoint.model)));
  return {
    tokens: expected.input + output,
    cost: maxBigInt(
      maxCost((endpoint) => longestInput(expected, endpoint)),
      isUnknown ? UNKNOWN_COST : 0n,
    ),
    ...((isUnknown || mayBeLonger(expected)) && {
      minCost: maxBigInt(
        maxCost(() => expected),
        isUnknown ? MIN_UNKNOWN_COST : 0n,
      ),
    }),
    round: NO_ROUND,
    limitsFor: NO_LIMITS,
  };
}
