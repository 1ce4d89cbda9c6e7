/** Moments in the lists of servers. */

import type { Json } from '../../core/json/json.ts';

/** An ISO date as Unix seconds. */
export function unixSecondsOf(date: Json): number | undefined {
  const milliseconds = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}
