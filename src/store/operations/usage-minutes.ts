/** Reports of usage by the minute, from the records of requests and video tasks: sums are kept by the hour. */

import { GatewayError } from '../../core/errors.ts';
import { type Row, scanning } from '../operation.ts';
import { MAX_ID_SKEW_MS } from '../request-rows.ts';
import type { UsageFilter } from '../sum-source.ts';
import { COUNT_COLUMNS, MONEY_COLUMNS } from '../usage-columns.ts';
import { IS_FAILURE, IS_PARTIAL } from '../usage-row.ts';
import { HAS_TAG, type RecordGrouping } from '../usage-rows.ts';
import { sumColumns, sumOf, UNPRICED_COLUMN, unpricedTokens } from '../usage-sums.ts';

export interface UsageMinutesQuery {
  filter: UsageFilter;
  /** Minutes since 1970; `to` is exclusive. */
  from: number;
  to: number;
  by: RecordGrouping[];
  /** Models whose tokens are counted as `unpriced_tokens` where they cost nothing. */
  unpriced?: string[];
}

const MINUTE_MS = 60_000;
/** Records of requests that began in the span. */
const MAX_RECORDS = 500_000;

const COLUMNS: Record<RecordGrouping, string> = {
  minute: `started_at / ${MINUTE_MS}`,
  model: "endpoint_provider || '/' || endpoint_model",
  provider: 'endpoint_provider',
  key: 'key_id',
  protocol: 'protocol_in',
  status: 'status',
  tags: "coalesce(tags, '')",
};
const CONDITIONS: Record<keyof UsageFilter, string> = {
  keyId: 'key_id = :keyId',
  model: `${COLUMNS.model} = :model`,
  provider: 'endpoint_provider = :provider',
  protocol: 'protocol_in = :protocol',
  status: 'status = :status',
  tag: HAS_TAG,
};
const SUMMED = [
  'started_at',
  'key_id',
  'endpoint_provider',
  'endpoint_model',
  'protocol_in',
  'status',
  'estimated',
  'tags',
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'cost',
];
const ofEstimates = (sum: string) => `CASE WHEN estimated = 1 THEN ${sum} ELSE 0 END`;
/** Expressions that are not columns of records. */
const COUNTED: Partial<Record<(typeof COUNT_COLUMNS)[number], string>> = {
  requests: '1',
  failures: `CASE WHEN ${IS_FAILURE} THEN 1 ELSE 0 END`,
  assessed: '1',
  partial: `CASE WHEN ${IS_PARTIAL} THEN 1 ELSE 0 END`,
  estimated_tokens: ofEstimates('input_tokens + output_tokens'),
};

/** Sums by minute, in the form of `usageSums`. Throws `invalid_request` for a span with too many records. */
export const usageMinutes = scanning<UsageMinutesQuery, Row[]>('usage', async (transaction, query) => {
  const { filter, by } = query;
  const [start, end] = [query.from * MINUTE_MS, query.to * MINUTE_MS];
  const most = { start, end, most: MAX_RECORDS };
  const probe = 'SELECT at FROM usage_request WHERE at >= :start AND at < :end ORDER BY at LIMIT 1 OFFSET :most';
  if ((await transaction.all(probe, most)).length > 0) {
    const message = `from must be later, or to earlier: more than ${MAX_RECORDS} requests are not summed up by the minute.`;
    throw new GatewayError('invalid_request', message, { param: 'from' });
  }
  const conditions = Object.keys(filter).map((name) => `AND ${CONDITIONS[name as keyof UsageFilter]}`);
  const columns = SUMMED.join(', ');
  const began = 'started_at >= :start AND started_at < :end';
  const groups = by.map((name) => `${COLUMNS[name]} AS "${name}"`);
  const unpriced = unpricedTokens(transaction, COLUMNS.model, query.unpriced ?? []);
  const summed = COUNT_COLUMNS.map((name): [name: string, sql: string] => [name, COUNTED[name] ?? name]);
  if (unpriced.sql !== undefined) summed.push([UNPRICED_COLUMN, unpriced.sql]);
  const sums = [
    ...groups,
    ...summed.map(([name, sql]) => `CAST(SUM(${sql}) AS text) AS ${name}`),
    sumColumns('cost'),
    sumColumns(`(${ofEstimates('cost')})`, 'estimated_cost'),
  ];
  const places = by.map((_, index) => index + 1).join(', ');
  const rows = await transaction.all(
    `SELECT ${sums.join(', ')} FROM (
       SELECT ${columns} FROM usage_request WHERE at >= :first AND at < :last AND ${began}
       UNION ALL SELECT ${columns} FROM usage_record WHERE ${began}) AS records
     WHERE 1 = 1 ${conditions.join(' ')} ${by.length > 0 ? `GROUP BY ${places} ORDER BY ${places}` : 'HAVING COUNT(*) > 0'}`,
    // The time in an id may differ from that of the start.
    { ...filter, ...unpriced.values, start, end, first: start - MAX_ID_SKEW_MS, last: end + MAX_ID_SKEW_MS },
  );
  return rows.map((row) => ({
    ...Object.fromEntries(by.map((name) => [name, row[name] ?? null])),
    ...Object.fromEntries(summed.map(([name]) => [name, Number(row[name])])),
    ...Object.fromEntries(MONEY_COLUMNS.map((name) => [name, String(sumOf(row, name))])),
  }));
});
