/** Latency and throughput percentiles of each endpoint over the last five minutes. */

import { monotonicNow } from '../core/clock.ts';
import type { Percentile } from './policy.ts';

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
const MAX_SAMPLES = 500;
/** Bounds memory: the least recently used endpoint is dropped. */
const MAX_ENDPOINTS = 10_000;

interface Measured {
  at: number;
  latency: number;
  throughput?: number;
}

export function createLatencyStatistics(now: () => number = monotonicNow): LatencyStatistics {
  const measured = new Map<string, Measured[]>();

  function samples(endpoint: string): Measured[] {
    const oldest = now() - WINDOW_MS;
    const lately = measured.get(endpoint)?.slice(-MAX_SAMPLES) ?? [];
    return lately.filter(({ at }) => at >= oldest);
  }

  return {
    record(endpoint, { firstByte, total, tokens }) {
      const seconds = (total - firstByte) / 1000;
      const throughput = tokens !== undefined && tokens > 0 ? tokens / Math.max(seconds, 0.001) : undefined;
      const kept = measured.get(endpoint) ?? [];
      // Old samples are removed in batches, because this runs for every response.
      if (kept.length >= 2 * MAX_SAMPLES) kept.splice(0, MAX_SAMPLES);
      kept.push({ at: now(), latency: firstByte / 1000, throughput });
      measured.delete(endpoint);
      measured.set(endpoint, kept);
      const [stalest] = measured.size > MAX_ENDPOINTS ? measured.keys() : [];
      if (stalest !== undefined) measured.delete(stalest);
    },
    endpoints: () => [...measured.keys()],
    latency: (endpoint, percentile) => {
      const values = samples(endpoint).map(({ latency }) => latency);
      return at(
        values.sort((one, other) => one - other),
        percentile,
      );
    },
    throughput: (endpoint, percentile) => {
      const values = samples(endpoint).flatMap(({ throughput }) => throughput ?? []);
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
