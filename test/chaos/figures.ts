/** Figures of a scenario, and the limits that they must keep. */

export type Verdict = 'ok' | 'MISSED' | 'noted' | 'NOT RUN';

export interface Figure {
  name: string;
  measured: string;
  /** Absent where nothing is promised. */
  target?: string;
  verdict: Verdict;
}

const judged = (isMet: boolean): Verdict => (isMet ? 'ok' : 'MISSED');

export function atMost(name: string, value: number, limit: number, unit = ''): Figure {
  return { name, measured: amount(value, unit), target: `≤ ${amount(limit, unit)}`, verdict: judged(value <= limit) };
}

export function atLeast(name: string, value: number, limit: number, unit = ''): Figure {
  return { name, measured: amount(value, unit), target: `≥ ${amount(limit, unit)}`, verdict: judged(value >= limit) };
}

export function exactly(name: string, value: number | string, expected: number | string): Figure {
  const text = (any: number | string) => (typeof any === 'number' ? amount(any) : any);
  return { name, measured: text(value), target: text(expected), verdict: judged(value === expected) };
}

export function noted(name: string, value: number | string, unit = ''): Figure {
  return { name, measured: typeof value === 'number' ? amount(value, unit) : value, verdict: 'noted' };
}

/** What this machine cannot do; the reason stands where the value would. */
export function notRun(name: string, reason: string): Figure {
  return { name, measured: reason, verdict: 'NOT RUN' };
}

/** The value below which that share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

function amount(value: number, unit = ''): string {
  const digits = Number.isInteger(value) || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString('en-US', { maximumFractionDigits: digits });
  return unit === '' ? text : `${text} ${unit}`;
}
