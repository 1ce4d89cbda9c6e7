/** Ranking: orders the candidates of a request and explains the exclusion of the others. */

import { type Candidate, selected, totalPrice } from './candidate.ts';
import type { CircuitBreaker, Cooldown } from './circuit-breaker.ts';
import { createExclusion } from './exclusion.ts';
import type { LatencyStatistics } from './latency-statistics.ts';
import { NO_POLICY, PERCENTILES, type Percentile, type PercentileLimits, type RoutingPolicy } from './policy.ts';
import { rendezvousScore } from './rendezvous.ts';

/** State of endpoints and of the conversation at the time of the decision. */
export interface RankingContext {
  breaker: Pick<CircuitBreaker, 'cooldown' | 'failedRecently'>;
  /** Statistics of streamed or of whole responses, as requested. */
  statistics: Pick<LatencyStatistics, 'latency' | 'throughput' | 'isExpected'>;
  /** Digest of the conversation. Read only if there is a choice. */
  readonly conversation: string;
  /** Sticky binding: the candidate that last answered the conversation. Read only if there is a choice. */
  readonly holder?: string;
}

export interface ExcludedCandidate<Any> {
  candidate: Any;
  reason: string;
}

export interface Ranking<Any> {
  /** Best first. */
  ranked: Any[];
  /** Those in cooldown, best first: for a request that no ranked one can serve. */
  inCooldown: Any[];
  excluded: ExcludedCandidate<Any>[];
}

export function rank<Any extends Candidate>(
  candidates: readonly Any[],
  policy: RoutingPolicy,
  context: RankingContext,
): Ranking<Any> {
  const [only] = candidates;
  if (only && candidates.length === 1 && policy === NO_POLICY && !only.unusable)
    return { ranked: [only], inCooldown: [], excluded: [] };
  const exclusion = createExclusion(policy, candidates);
  const excluded: ExcludedCandidate<Any>[] = [];
  const allowed: Any[] = [];
  for (const candidate of candidates) {
    const reason = exclusion(candidate);
    if (reason === undefined) allowed.push(candidate);
    else excluded.push({ candidate, reason });
  }
  const sorted = sort(allowed, policy, context);
  const { breaker } = context;
  const available = sorted.filter(({ id }) => !breaker.cooldown(id));
  // If all are in cooldown, try the best one anyway: it may have recovered.
  const ready = available.length > 0 ? available : sorted.slice(0, 1);
  const ranked = policy.allowFallbacks ? ready : ready.slice(0, 1);
  const tried = new Set(ranked);
  const inCooldown = policy.allowFallbacks ? sorted.filter((candidate) => !tried.has(candidate)) : [];
  for (const candidate of sorted) {
    if (!tried.has(candidate)) excluded.push({ candidate, reason: exclusionReason(candidate, context) });
  }
  return { ranked, inCooldown, excluded };
}

function exclusionReason({ id }: Candidate, { breaker }: RankingContext): string {
  const cooldown = breaker.cooldown(id);
  return cooldown ? cooldownReason(cooldown) : 'fallbacks are not allowed';
}

/** Text for the trace. */
export function cooldownReason(cooldown: Cooldown): string {
  if (cooldown.milliseconds === undefined) return `it is being probed after ${cooldown.cause}`;
  return `it is in cooldown for ${Math.ceil(cooldown.milliseconds / 1000)} s after ${cooldown.cause}`;
}

/** Sorts by a list of keys, compared lexicographically, lower first. */
function sort<Any extends Candidate>(
  candidates: readonly Any[],
  policy: RoutingPolicy,
  context: RankingContext,
): Any[] {
  if (candidates.length < 2) return [...candidates];
  const places = orderPositions(policy, candidates);
  const weights = weightsOf(candidates);
  const { holder, conversation, breaker, statistics } = context;
  const keyed = candidates.map((candidate, index) => {
    const { id } = candidate;
    const [measure, tie] = sortKeys(candidate, policy, statistics);
    const keys = [
      policy.acrossModels ? 0 : candidate.rank,
      places?.get(candidate) ?? policy.order.length,
      id === holder ? 0 : 1,
      breaker.failedRecently(id) ? 1 : 0,
      isPreferred(id, policy, statistics) ? 0 : 1,
      measure,
      tie,
      rendezvousScore(conversation, id, weights[index] ?? 1),
    ];
    return { candidate, keys };
  });
  return keyed.sort((one, other) => compare(one.keys, other.keys)).map(({ candidate }) => candidate);
}

function orderPositions<Any extends Candidate>(
  { order }: RoutingPolicy,
  candidates: readonly Any[],
): Map<Candidate, number> | undefined {
  if (order.length === 0) return undefined;
  const places = new Map<Candidate, number>();
  for (const [place, selector] of order.entries()) {
    for (const candidate of selected(selector, candidates)) if (!places.has(candidate)) places.set(candidate, place);
  }
  return places;
}

/**
 * Endpoints without measurements come first, so that they get some, and last while a request is on its way that gives them some.
 * Those without a price come last.
 */
function sortKeys(
  candidate: Candidate,
  policy: RoutingPolicy,
  statistics: RankingContext['statistics'],
): [number, number] {
  const { id, priority } = candidate;
  const unmeasured = (): number => (statistics.isExpected(id) ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
  switch (policy.acrossModels ? policy.sort : (candidate.sort ?? policy.sort)) {
    case 'price':
      return [totalPrice(candidate) ?? Number.POSITIVE_INFINITY, priority];
    case 'latency':
      return [statistics.latency(id, 'p50') ?? unmeasured(), priority];
    case 'throughput':
      return [-(statistics.throughput(id, 'p50') ?? -unmeasured()), priority];
    case undefined:
      return [priority, 0];
  }
}

function isPreferred(id: string, policy: RoutingPolicy, statistics: RankingContext['statistics']): boolean {
  if (!policy.preferredLatency && !policy.preferredThroughput) return true;
  const within = (
    bounds: PercentileLimits | undefined,
    holds: (percentile: Percentile, bound: number) => boolean,
  ): boolean =>
    PERCENTILES.every((percentile) => {
      const bound = bounds?.[percentile];
      return bound == null || holds(percentile, bound);
    });
  return (
    within(policy.preferredLatency, (percentile, most) => (statistics.latency(id, percentile) ?? 0) <= most) &&
    within(
      policy.preferredThroughput,
      (percentile, least) => (statistics.throughput(id, percentile) ?? Number.POSITIVE_INFINITY) >= least,
    )
  );
}

/** Floor of prices in weights, in USD per million tokens, so that a free endpoint does not get all requests. */
const MIN_PRICE_USD = 0.01;

/** In the order of the candidates: configured weights, else the inverse square of the price; a model has the ones or the others. */
function weightsOf(candidates: readonly Candidate[]): number[] {
  const weighted = new Set(candidates.filter(({ weight }) => weight !== undefined).map(({ rank }) => rank));
  const prices = candidates.map(totalPrice);
  const highestPrice = Math.max(MIN_PRICE_USD, ...prices.map((price) => price ?? 0));
  return candidates.map(({ rank, weight = 1, siblings }, index) => {
    const byPrice = Math.max(prices[index] ?? highestPrice, MIN_PRICE_USD) ** -2;
    return (weighted.has(rank) ? weight : byPrice) / siblings;
  });
}

function compare(one: readonly number[], other: readonly number[]): number {
  for (let index = 0; index < one.length; index++) {
    const [key = 0, otherKey = 0] = [one[index], other[index]];
    // Two infinite keys have no difference.
    if (key !== otherKey) return key - otherKey;
  }
  return 0;
}
