/** Requests of a span by their times, from the sums of hours and days. */

import { scanning } from '../operation.ts';
import { existingSpan, type HourSpan, sumConditions, sumSource, type UsageFilter, wholeDays } from '../sum-source.ts';

/** Counts of a span in hours since 1970, as in `time-counts.ts`: none of requests that an earlier version recorded. */
export const usageTimes = scanning<HourSpan & { filter: UsageFilter }, number[]>(
  'usage',
  async (transaction, { filter, ...asked }) => {
    const span = await existingSpan(transaction, asked);
    const conditions = sumConditions(filter);
    const source = sumSource(transaction, span, wholeDays(span));
    const rows = source.select('usage_part_day', () => 'times', conditions.sql);
    const { counts } = transaction;
    const [row] = await transaction.all(
      `${source.tables} SELECT ${counts.total('times')} AS times FROM (${rows}) AS rows`,
      {
        ...source.values,
        ...conditions.values,
      },
    );
    // A record that replaces one of an earlier version subtracts times that were not counted.
    return counts.decode(row?.times ?? null).map((count) => Math.max(0, count));
  },
);
