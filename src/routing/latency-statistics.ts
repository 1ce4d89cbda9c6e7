/** Latency and throughput percentiles of each endpoint over the last five minutes. */

import { monotonicNow } from '../core/clock.ts';
import type { Percentile } from './policy.ts';
import { SampleRing } from './sample-ring.ts';

export interface Sample {
  /** Milliseconds from the request to the first byte of the response. */
  firstByte: number;
  /** Milliseconds from the request to the last byte. */
  total: number;
  /** Output tokens, if known. */
  tokens?: number;
}

export interface LatencyStatistics {
  record(endpoint: string, sample: Sample): void;
  /** Ids with samples that may be old. */
  endpoints(): string[];
  /** Seconds to the first byte; undefined without samples. */
  latency(endpoint: string, percentile: Percentile): number | undefined;
  /** Output tokens per second that the given share of responses exceeded; undefined without samples. */
  throughput(endpoint: string, percentile: Percentile): number | undefined;
}

const WINDOW_MS = 5 * 60_000;
/** Bounds memory: of more endpoints, a tenth is dropped whose last samples are oldest. */
const MAX_ENDPOINTS = 10_000;

export function createLatencyStatistics(now: () => number = monotonicNow): LatencyStatistics {
  const measured = new Map<string, SampleRing>();

  function dropStalest(): void {
    const byAge = [...measured].sort(([, one], [, other]) => one.lastAt - other.lastAt);
    for (const [endpoint] of byAge.slice(0, MAX_ENDPOINTS / 10)) measured.delete(endpoint);
  }

  function ringOf(endpoint: string): SampleRing {
    const known = measured.get(endpoint);
    if (known) return known;
    if (measured.size >= MAX_ENDPOINTS) dropStalest();
    const ring = new SampleRing();
    measured.set(endpoint, ring);
    return ring;
  }

  return {
    record(endpoint, { firstByte, total, tokens }) {
      const seconds = (total - firstByte) / 1000;
      const throughput = tokens !== undefined && tokens > 0 ? tokens / Math.max(seconds, 0.001) : undefined;
      ringOf(endpoint).add({ at: now(), latency: firstByte / 1000, throughput });
    },
    endpoints: () => [...measured.keys()],
    latency: (endpoint, percentile) => {
      const values = measured.get(endpoint)?.latencies(now() - WINDOW_MS) ?? [];
      return at(
        values.sort((one, other) => one - other),
        percentile,
      );
    },
    throughput: (endpoint, percentile) => {
      const values = measured.get(endpoint)?.throughputs(now() - WINDOW_MS) ?? [];
      return at(
        values.sort((one, other) => other - one),
        percentile,
      );
    },
  };
}

/** Nearest-rank percentile. */
function at(sorted: readonly number[], percentile: Percentile): number | undefined {
  const share = Number(percentile.slice(1)) / 100;
  return sorted[Math.ceil(sorted.length * share) - 1];
}
