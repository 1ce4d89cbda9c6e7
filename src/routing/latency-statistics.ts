/** Latency and throughput percentiles of each endpoint over the last five minutes. */

import type { Percentile } from './policy.ts';

export interface Sample {
  /** Milliseconds from the request to the first byte of the response. */
  firstByte: number;
  /** Milliseconds from the request to the last byte. */
  total: number;
  /** Output tokens, if known. */
  tokens?: number;
  /** Whether tokens came as they were made. */
  isStreamed?: boolean;
}

export interface LatencyStatistics {
  /** Notes that a request is on its way that may give an endpoint without samples its first one. */
  expect(endpoint: string): void;
  /** Whether the first sample of an endpoint was expected within the last minute, and has not come. */
  isExpected(endpoint: string): boolean;
  /** Adds a sample. `endpoint` is a key of `statisticsKey`, which separates streamed from whole responses. */
  record(endpoint: string, sample: Sample): void;
  /** Ids with samples that may be old. */
  endpoints(): string[];
  /** Seconds to the first byte; undefined without samples. */
  latency(endpoint: string, percentile: Percentile | 'p95'): number | undefined;
  /** Output tokens per second that the given share of responses exceeded; undefined without samples. */
  throughput(endpoint: string, percentile: Percentile): number | undefined;
}

const WINDOW_MS = 5 * 60_000;
/** Time for which a first sample is waited for; then the next request may give it. */
const EXPECTATION_MS = 60_000;
/** A stream of less came at once, as a whole answer does. */
const MIN_STREAM_MS = 10;
/** Bounds memory: of more endpoints, a tenth is dropped whose last samples are oldest. */
const MAX_ENDPOINTS = 10_000;

export function createLatencyStatistics(now: () => number): LatencyStatistics {
  const measured = new Map<string, SampleRing>();

  function dropStalest(): void {
    const byAge = [...measured].sort(([, one], [, other]) => one.lastAt - other.lastAt || 0);
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

  const hasSamples = (endpoint: string) =>
    (measured.get(endpoint)?.lastAt ?? Number.NEGATIVE_INFINITY) >= now() - WINDOW_MS;

  return {
    expect(endpoint) {
      if (!hasSamples(endpoint)) ringOf(endpoint).expectedAt = now();
    },
    isExpected: (endpoint) =>
      !hasSamples(endpoint) &&
      (measured.get(endpoint)?.expectedAt ?? Number.NEGATIVE_INFINITY) > now() - EXPECTATION_MS,
    record(endpoint, { firstByte, total, tokens, isStreamed = true }) {
      const streamed = total - firstByte;
      // Tokens of a whole answer are made before its first byte.
      const seconds = Math.max(1, isStreamed && streamed >= MIN_STREAM_MS ? streamed : total) / 1000;
      const throughput = tokens !== undefined && tokens > 0 ? tokens / seconds : undefined;
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
function at(sorted: readonly number[], percentile: Percentile | 'p95'): number | undefined {
  const share = Number(percentile.slice(1)) / 100;
  return sorted[Math.ceil(sorted.length * share) - 1];
}

const FIRST_CAPACITY = 16;
const MAX_SAMPLES = 500;
/** Numbers of a sample: its time, its latency, its throughput. */
const FIELDS = 3;

interface TimedSample {
  /** Milliseconds. */
  at: number;
  /** Seconds. */
  latency: number;
  /** Tokens per second; undefined if not known. */
  throughput?: number | undefined;
}

/** The last samples of an endpoint, as numbers: objects that live for minutes grow old, and their collection costs a multiple. */
class SampleRing {
  #numbers = new Float64Array(FIRST_CAPACITY * FIELDS);
  /** Number of samples so far. */
  #count = 0;
  /** Time of the last request that might have given the first sample. */
  expectedAt = Number.NEGATIVE_INFINITY;

  add({ at, latency, throughput = Number.NaN }: TimedSample): void {
    if (this.#count === this.#capacity && this.#capacity < MAX_SAMPLES) this.#grow();
    const place = (this.#count % this.#capacity) * FIELDS;
    this.#numbers[place] = at;
    this.#numbers[place + 1] = latency;
    this.#numbers[place + 2] = throughput;
    this.#count++;
  }

  /** Latencies of the samples since a time, in no order. */
  latencies(since: number): number[] {
    return this.#values(1, since);
  }

  /** Known throughputs of the samples since a time, in no order. */
  throughputs(since: number): number[] {
    return this.#values(2, since);
  }

  get lastAt(): number {
    if (this.#count === 0) return Number.NEGATIVE_INFINITY;
    return this.#numbers[((this.#count - 1) % this.#capacity) * FIELDS] as number;
  }

  get #capacity(): number {
    return this.#numbers.length / FIELDS;
  }

  #grow(): void {
    const larger = new Float64Array(Math.min(2 * this.#capacity, MAX_SAMPLES) * FIELDS);
    larger.set(this.#numbers);
    this.#numbers = larger;
  }

  #values(field: number, since: number): number[] {
    const values: number[] = [];
    const end = Math.min(this.#count, this.#capacity) * FIELDS;
    for (let place = 0; place < end; place += FIELDS) {
      const value = this.#numbers[place + field] as number;
      if ((this.#numbers[place] as number) >= since && !Number.isNaN(value)) values.push(value);
    }
    return values;
  }
}
