/** Range of time of a list as filters of the gateway. */

import { useMemo } from 'react';
import { spanOf } from '../spans.ts';
import type { Range, TimeSearch } from '../times.ts';
import { gatewayNow } from '../times.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Interval in which the beginning moves on: each time, the list is read again. */
const MOVES_EVERY_MS: Record<Range, number> = {
  '15m': 5 * MINUTE_MS,
  '1h': 15 * MINUTE_MS,
  '24h': 6 * HOUR_MS,
  '7d': 24 * HOUR_MS,
  '30d': 24 * HOUR_MS,
  month: 24 * HOUR_MS,
};

/** Without an end where more still comes. */
export function useTimeFilter({ range, from, to, zone }: TimeSearch): Pick<TimeSearch, 'from' | 'to'> {
  const turn = range && Math.floor(gatewayNow() / MOVES_EVERY_MS[range]);
  return useMemo(() => {
    // `turn` only says when to look at the clock again.
    if (from !== undefined || to !== undefined) return { from, to };
    return range === undefined || turn === undefined
      ? {}
      : { from: spanOf({ range, zone }, gatewayNow()).from.toISOString() };
  }, [range, from, to, zone, turn]);
}
