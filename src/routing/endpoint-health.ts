/** Health of endpoints: state of their circuits, latency and throughput of the last five minutes, success of the last day. */

import type { AttemptHistory, ToldLimit } from './attempt-log.ts';
import type { CircuitState } from './circuit-breaker.ts';
import { type RoutingState, statisticsKey } from './state.ts';

export interface EndpointHealth {
  /** `<provider>/<upstream model>#<id of the credential>`. */
  id: string;
  /** `closed` means healthy, unless it has a cause: then it failed lately. */
  state: CircuitState['state'];
  cause?: string;
  /** Milliseconds until a request may probe it. */
  cooldownMs?: number;
  /** Timings of streamed and of whole responses that this process relayed; absent without any. */
  streamed?: Timings;
  whole?: Timings;
  /** Attempts of this process in the last day; absent without any. */
  history?: AttemptHistory;
  /** Limits of the account as the upstream last reported them. */
  limits: ToldLimit[];
}

interface Timings {
  /** Seconds to the first byte. */
  firstByte: { p50: number; p90: number; p95: number; p99: number };
  /** Output tokens per second that the share of responses exceeded; absent if unknown. */
  throughput?: { p50: number; p90: number };
}

const STREAMED = statisticsKey('', true);

/** Endpoints that this process used in the last day, or that failed lately; sorted by id. */
export function endpointHealth({
  breaker,
  statistics,
  attempts,
}: Pick<RoutingState, 'breaker' | 'statistics' | 'attempts'>): EndpointHealth[] {
  const failures = new Map(breaker.failures().map((state) => [state.id, state]));
  const measured = statistics
    .endpoints()
    .map((name) => (name.endsWith(STREAMED) ? name.slice(0, -STREAMED.length) : name));

  function timings(id: string, stream: boolean): Timings | undefined {
    const key = statisticsKey(id, stream);
    const [p50, p90, p95, p99] = (['p50', 'p90', 'p95', 'p99'] as const).map((percentile) =>
      statistics.latency(key, percentile),
    );
    if (p50 === undefined || p90 === undefined || p95 === undefined || p99 === undefined) return undefined;
    const [median, most] = (['p50', 'p90'] as const).map((percentile) => statistics.throughput(key, percentile));
    return {
      firstByte: { p50, p90, p95, p99 },
      ...(median !== undefined && most !== undefined && { throughput: { p50: median, p90: most } }),
    };
  }

  return [...new Set([...failures.keys(), ...measured, ...attempts.endpoints()])].sort().flatMap((id) => {
    const failure = failures.get(id);
    const [streamed, whole] = [timings(id, true), timings(id, false)];
    const history = attempts.history(id);
    if (!failure && !streamed && !whole && !history) return [];
    return {
      id,
      state: failure?.state ?? 'closed',
      ...(failure && { cause: failure.cause }),
      ...(failure?.milliseconds !== undefined && { cooldownMs: Math.ceil(failure.milliseconds) }),
      ...(streamed && { streamed }),
      ...(whole && { whole }),
      ...(history && { history }),
      limits: attempts.limits(id),
    };
  });
}
