/** Range of time in the address of a page. */

export const RANGES = ['15m', '1h', '24h', '7d', '30d', 'month'] as const;
export type Range = (typeof RANGES)[number];

/** Lengths of time that reports are by. */
export const STEPS = ['minute', 'hour', 'day', 'week', 'month'] as const;
export type Step = (typeof STEPS)[number];

export interface TimeSearch {
  range?: Range | undefined;
  /** ISO times of a range of one's own, which counts instead of `range`. */
  from?: string | undefined;
  to?: string | undefined;
  /** Name of a time zone, such as Europe/Berlin. */
  zone?: string | undefined;
}

export function timeOf(search: Record<string, unknown>): TimeSearch {
  return {
    range: RANGES.find((range) => range === search.range),
    from: momentIn(search.from),
    to: momentIn(search.to),
    zone: zoneIn(search.zone),
  };
}

export function momentIn(value: unknown): string | undefined {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : undefined;
}

function zoneIn(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
