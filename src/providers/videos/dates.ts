/** Dates in task lists. */

import type { Json } from '../../core/json/json.ts';

/** Converts an ISO date to Unix seconds. */
export function unixSecondsOf(date: Json): number | undefined {
  const milliseconds = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}
