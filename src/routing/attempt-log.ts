/** Log of attempts: how those at each endpoint ended in the last day, and the limits that its upstream reported. */

import type { ErrorCode } from '../core/errors.ts';

export interface AttemptCounts {
  attempts: number;
  /** Attempts that failed by the fault of the upstream. */
  failed: number;
}

export interface AttemptHistory {
  /** The minutes of the last hour, oldest first. */
  minutes: AttemptCounts[];
  /** The half hours of the last day, oldest first. */
  halfHours: AttemptCounts[];
  /** The latest ones of the last day, newest first; at most five. */
  lastFailures: { code: ErrorCode; millisecondsAgo: number }[];
}

/** A limit of an account as its upstream names it in headers. */
export interface ToldLimit {
  kind: (typeof KINDS)[number];
  limit?: number;
  remaining?: number;
  /** Reset as the upstream writes it: a duration or a time. */
  reset?: string;
  millisecondsAgo: number;
}

export interface AttemptLog {
  /** Number of all attempts. */
  readonly counted: number;
  /** Counts an attempt that has ended; `failure` where the upstream is at fault. */
  count(id: string, failure?: ErrorCode): void;
  /** Keeps the limits that headers of a response name. */
  onResponseHeaders(id: string, headers: Readonly<Record<string, string | undefined>>): void;
  /** Ids with attempts in the last day. */
  endpoints(): string[];
  /** Undefined without an attempt in the last day. */
  history(id: string): AttemptHistory | undefined;
  /** Limits that were reported in the last day. */
  limits(id: string): ToldLimit[];
}

const MINUTE_MS = 60_000;
const HALF_HOUR_MS = 30 * MINUTE_MS;
const MINUTES = 60;
const HALF_HOURS = 48;
const DAY_MS = HALF_HOURS * HALF_HOUR_MS;
/** Bounds memory: of more endpoints, a tenth is dropped whose last attempts are oldest. */
const MAX_ENDPOINTS = 10_000;

const KINDS = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;
const FIELDS = ['limit', 'remaining', 'reset'] as const;
/** Headers of OpenAI, which many others copy, and of Anthropic, in the order of kinds and fields. */
const NAMES = [
  KINDS.flatMap((kind) => FIELDS.map((field) => `x-ratelimit-${field}-${kind}`)),
  KINDS.flatMap((kind) => FIELDS.map((field) => `anthropic-ratelimit-${kind}-${field}`)),
];
/** Headers of which one is present where an upstream reports limits. Most report none, and a look-up of all headers costs more. */
const COMMON_LIMIT_HEADERS = [
  'x-ratelimit-remaining-requests',
  'x-ratelimit-remaining-tokens',
  'anthropic-ratelimit-requests-remaining',
];
const MAX_CHARACTERS = 64;
const MAX_FAILURES = 5;

export function createAttemptLog(now: () => number): AttemptLog {
  const entries = new Map<string, Entry>();
  let counted = 0;

  function entryOf(id: string): Entry {
    const known = entries.get(id);
    if (known) return known;
    if (entries.size >= MAX_ENDPOINTS) dropStalest();
    const entry = new Entry();
    entries.set(id, entry);
    return entry;
  }

  function dropStalest(): void {
    const byAge = [...entries].sort(([, one], [, other]) => one.lastAt - other.lastAt);
    for (const [id] of byAge.slice(0, MAX_ENDPOINTS / 10)) entries.delete(id);
  }

  const isRecent = (at: number) => now() - at < DAY_MS;

  return {
    get counted() {
      return counted;
    },
    count(id, failure) {
      counted += 1;
      entryOf(id).count(now(), failure);
    },
    onResponseHeaders(id, headers) {
      if (!COMMON_LIMIT_HEADERS.some((name) => headers[name] !== undefined)) return;
      const names = NAMES.find((some) => some.some((name) => headers[name] !== undefined)) ?? [];
      const values = names.map((name) => headers[name]);
      if (values.every((value = '') => value.length <= MAX_CHARACTERS)) entryOf(id).told = { at: now(), values };
    },
    endpoints: () => [...entries].filter(([, { lastAt }]) => isRecent(lastAt)).map(([id]) => id),
    history(id) {
      const entry = entries.get(id);
      return entry && isRecent(entry.lastAt) ? entry.history(now()) : undefined;
    },
    limits(id) {
      const told = entries.get(id)?.told;
      return told && isRecent(told.at) ? limitsOf(told.values, now() - told.at) : [];
    },
  };
}

class Entry {
  lastAt = Number.NEGATIVE_INFINITY;
  told: { at: number; values: (string | undefined)[] } | undefined;
  /** Newest first. */
  #failures: { code: ErrorCode; at: number }[] = [];
  #minutes = new CountRing(MINUTE_MS, MINUTES);
  #halfHours = new CountRing(HALF_HOUR_MS, HALF_HOURS);

  count(at: number, failure: ErrorCode | undefined): void {
    this.lastAt = at;
    this.#minutes.count(at, failure !== undefined);
    this.#halfHours.count(at, failure !== undefined);
    if (failure !== undefined) this.#failures = [{ code: failure, at }, ...this.#failures.slice(0, MAX_FAILURES - 1)];
  }

  history(now: number): AttemptHistory {
    return {
      minutes: this.#minutes.counts(now),
      halfHours: this.#halfHours.counts(now),
      lastFailures: this.#failures
        .filter(({ at }) => now - at < DAY_MS)
        .map(({ code, at }) => ({ code, millisecondsAgo: now - at })),
    };
  }
}

/** Counts by equal spans of time, of which the last ones are kept. */
class CountRing {
  readonly #spanMs: number;
  readonly #size: number;
  /** Attempts and failures of each span. */
  readonly #numbers: Uint32Array;
  /** Number of the newest span. */
  #newest = 0;

  constructor(spanMs: number, size: number) {
    this.#spanMs = spanMs;
    this.#size = size;
    this.#numbers = new Uint32Array(2 * size);
  }

  count(at: number, isFailure: boolean): void {
    this.#goOn(at);
    const place = 2 * (this.#newest % this.#size);
    this.#numbers[place] = (this.#numbers[place] as number) + 1;
    if (isFailure) this.#numbers[place + 1] = (this.#numbers[place + 1] as number) + 1;
  }

  /** All spans, oldest first; the last one goes on. */
  counts(at: number): AttemptCounts[] {
    this.#goOn(at);
    return Array.from({ length: this.#size }, (_, index) => {
      const place = 2 * ((this.#newest + 1 + index) % this.#size);
      return { attempts: this.#numbers[place] as number, failed: this.#numbers[place + 1] as number };
    });
  }

  /** Empties the spans that have begun since. */
  #goOn(at: number): void {
    const current = Math.floor(at / this.#spanMs);
    const begun = Math.min(current - this.#newest, this.#size);
    for (let back = 0; back < begun; back++) {
      const place = 2 * ((current - back) % this.#size);
      this.#numbers.fill(0, place, place + 2);
    }
    this.#newest = Math.max(current, this.#newest);
  }
}

function limitsOf(values: readonly (string | undefined)[], millisecondsAgo: number): ToldLimit[] {
  return KINDS.flatMap((kind, index) => {
    const [limit, remaining, reset] = values.slice(index * FIELDS.length, (index + 1) * FIELDS.length);
    const [most, left] = [limit, remaining].map((text) => (text && /^\d{1,15}$/.test(text) ? Number(text) : undefined));
    if (most === undefined && left === undefined) return [];
    return {
      kind,
      ...(most !== undefined && { limit: most }),
      ...(left !== undefined && { remaining: left }),
      ...(reset && { reset }),
      millisecondsAgo,
    };
  });
}
