/** Times: the clock of the gateway, and the range of time in the address of a page. */

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

/** Milliseconds by which the clock of the gateway is ahead. */
let ahead = 0;
/** A header of whole seconds, and the time on the way, say nothing about less. */
const CLOCK_TOLERANCE_MS = 5000;

/** Unix milliseconds by the clock of the gateway, which told all times that are shown. */
export const gatewayNow = () => Date.now() + ahead;

/** Answers that are kept may be old. */
export function learnClock(headers: Headers): void {
  const difference = Date.parse(headers.get('date') ?? '') - Date.now();
  if (headers.get('cache-control') === 'no-store') ahead = Math.abs(difference) > CLOCK_TOLERANCE_MS ? difference : 0;
}
