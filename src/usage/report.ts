/** Usage report of `GET /v1/usage`, and the figures that it shares with reports of use. */

import { momentOf } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { decimalOf } from '../core/money.ts';
import type { Store } from '../store/store.ts';
import { COUNT_COLUMNS, MONEY_COLUMNS } from '../store/usage-columns.ts';
import type { HourGrouping } from '../store/usage-rows.ts';
import { UNPRICED_COLUMN } from '../store/usage-sums.ts';

export interface ReportQuery {
  /** Unix milliseconds of whole hours; `to` is exclusive. */
  from: number;
  to: number;
  by: HourGrouping[];
}

/** Counts of a group, identified by the requested dimensions. */
export interface ReportRow extends UseCounts {
  /** `2026-11-21`, UTC. */
  day?: string;
  /** Start, ISO. */
  hour?: string;
  /** `<provider>/<model_id>` of the endpoint. */
  model?: string;
  provider?: string;
  /** The id of a key. */
  key?: string;
}

export interface UseCounts {
  requests: number;
  failures: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  /** Requests that `partial` and the estimates are counted of: not those that an earlier version recorded. */
  assessed: number;
  /** Responses that broke off after their first byte. */
  partial: number;
  /** Tokens whose counts are estimates, and their cost in USD, exact. */
  estimated_tokens: number;
  estimated_cost: string;
  /** Tokens of models without a price; `cost` does not include them. */
  unpriced_tokens: number;
  /** USD, exact; null if it is unknown: models without a price were used, and nothing else cost anything. */
  cost: string | null;
}

/** Sums of the store, by names of dimensions. */
export type SumRow = Record<string, unknown>;

/** Facts that the store does not have. */
export interface UseContext {
  /** Names of keys by their ids. */
  names: ReadonlyMap<string, string>;
  /** Whether a model, `<provider>/<model id>`, has a price. */
  hasPrice(model: string): boolean;
}

export interface UsageReport {
  object: 'usage';
  from: string;
  to: string;
  by: HourGrouping[];
  data: ReportRow[];
  total: UseCounts;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DEFAULT_SPAN_MS = 30 * DAY_MS;
/** Longest span of an hourly report. */
const MAX_HOURLY_SPAN_MS = 366 * DAY_MS;
const DATE_CHARACTERS = 10;
const ISO_MOMENT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

export interface ReportParameters {
  from?: string | undefined;
  to?: string | undefined;
  by?: string | undefined;
}

/** Throws `invalid_request` naming the parameter. Times without a zone are UTC; the default is the last 30 days by day. */
export function readReportQuery(
  parameters: ReportParameters,
  allowed: readonly HourGrouping[],
  now: number,
): ReportQuery {
  const to = Math.ceil((parameters.to === undefined ? now + 1 : parseMoment('to', parameters.to)) / HOUR_MS) * HOUR_MS;
  const defaultFrom = Math.floor((to - DEFAULT_SPAN_MS) / DAY_MS) * DAY_MS;
  const from =
    parameters.from === undefined ? defaultFrom : Math.floor(parseMoment('from', parameters.from) / HOUR_MS) * HOUR_MS;
  if (from >= to) throw invalid('from', 'must be before to');
  const names = (parameters.by ?? 'day').split(',').filter((name) => name !== '');
  const by = names.map((name) => {
    const found = allowed.find((one) => one === name);
    if (found === undefined) throw invalid('by', `must be a list of ${allowed.join(', ')}, not "${name}"`);
    return found;
  });
  if (by.includes('hour') && to - from > MAX_HOURLY_SPAN_MS) throw invalid('from', 'must be within a year by the hour');
  return { from, to, by: [...new Set(by)] };
}

/** Report of the use of a key, or of all keys without `keyId`. */
export async function reportUsage(
  store: Pick<Store, 'call'>,
  { from, to, by }: ReportQuery,
  { keyId, hasPrice }: { keyId?: string } & Pick<UseContext, 'hasPrice'>,
): Promise<UsageReport> {
  const span = { from: from / HOUR_MS, to: to / HOUR_MS, ...(keyId !== undefined && { keyId }) };
  const byModel: SumRow[] = await store.call('usageSums', { ...span, by: by.includes('model') ? by : ['model'] });
  const { models_without_price: unpriced } = modelsWithoutCost(byModel, hasPrice);
  const rows: SumRow[] = by.includes('model')
    ? withUnpricedTokens(byModel, unpriced)
    : await store.call('usageSums', { ...span, by, unpriced });
  const data = rows.map((row) => ({ ...groupOf(row, by), ...countsOf(row) }));
  const [start, end] = [new Date(from).toISOString(), new Date(to).toISOString()];
  return { object: 'usage', from: start, to: end, by, data, total: totalOf(rows) };
}

function groupOf(row: SumRow, by: readonly HourGrouping[]): Partial<ReportRow> {
  return Object.fromEntries(by.map((name) => [name, nameOf(name, row[name])]));
}

function nameOf(grouping: HourGrouping, value: unknown): string {
  if (grouping === 'day') return new Date(Number(value) * DAY_MS).toISOString().slice(0, 10);
  return grouping === 'hour' ? new Date(Number(value) * HOUR_MS).toISOString() : String(value);
}

/** Models with tokens and without cost. The rows have the column `model`, and any others. */
export function modelsWithoutCost(rows: readonly SumRow[], hasPrice: UseContext['hasPrice']) {
  const sums = new Map<string, { hasCost: boolean; hasTokens: boolean }>();
  for (const row of rows) {
    const name = String(row.model);
    const sum = sums.get(name) ?? { hasCost: false, hasTokens: false };
    sums.set(name, sum);
    sum.hasCost ||= row.cost !== '0';
    sum.hasTokens ||= Number(row.input_tokens) + Number(row.output_tokens) > 0;
  }
  const models = [...sums]
    .flatMap(([name, { hasCost, hasTokens }]) => (!hasCost && hasTokens ? [name] : []))
    .toSorted();
  return { models_without_cost: models, models_without_price: models.filter((model) => !hasPrice(model)) };
}

/** Rows by model, and by others beside, with the tokens of models without a price. */
export function withUnpricedTokens(rows: readonly SumRow[], unpriced: readonly string[]): SumRow[] {
  if (unpriced.length === 0) return [...rows];
  const names = new Set<unknown>(unpriced);
  return rows.map((row) =>
    names.has(row.model) ? { ...row, [UNPRICED_COLUMN]: Number(row.input_tokens) + Number(row.output_tokens) } : row,
  );
}

/** Cost of a record in 1e-12 USD; undefined where tokens were counted whose price is not known. */
export function knownCostOf(record: SumRow, hasPrice: UseContext['hasPrice']): bigint | undefined {
  const cost = BigInt(String(record.cost));
  if (cost !== 0n || Number(record.input_tokens) + Number(record.output_tokens) === 0) return cost;
  return hasPrice(`${record.endpoint_provider}/${record.endpoint_model}`) ? cost : undefined;
}

/** Sums of sums. */
export function totalOf(rows: readonly SumRow[]): UseCounts {
  const total: SumRow = {};
  for (const name of [...COUNT_COLUMNS, UNPRICED_COLUMN])
    total[name] = rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0);
  for (const name of MONEY_COLUMNS) total[name] = rows.reduce((sum, row) => sum + BigInt(String(row[name])), 0n);
  return countsOf(total);
}

/** Converts sums of the store to counts, with costs in USD as decimals. */
export function countsOf(row: SumRow): UseCounts {
  const counts: Record<string, number> = {};
  // A sum that a later version wrote and an earlier one corrected can be below zero.
  for (const name of COUNT_COLUMNS) counts[name] = Math.max(0, Number(row[name]));
  const unpriced = Number(row[UNPRICED_COLUMN] ?? 0);
  const [cost, estimated] = [BigInt(String(row.cost)), BigInt(String(row.estimated_cost))];
  return {
    ...counts,
    estimated_cost: decimalOf(estimated < 0n ? 0n : estimated),
    [UNPRICED_COLUMN]: unpriced,
    cost: cost === 0n && unpriced > 0 ? null : decimalOf(cost),
  } as UseCounts;
}

/** Unix milliseconds of an ISO date or time, in UTC if it names no zone. Throws `invalid_request`. */
export function parseMoment(param: string, text: string): number {
  const [matches, , , , zone] = ISO_MOMENT.exec(text) ?? [];
  const zoned = zone === undefined && text.length > DATE_CHARACTERS ? `${text}Z` : text;
  const value = matches === undefined ? Number.NaN : momentOf(zoned);
  if (Number.isNaN(value)) throw invalid(param, 'must be an ISO date or time such as 2026-11-21 or 2026-11-21T08:00Z');
  return value;
}

/** Error `invalid_request`; `words` continue a sentence that begins with the parameter, without the full stop. */
export function invalid(param: string, words: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${words}.`, { param });
}
