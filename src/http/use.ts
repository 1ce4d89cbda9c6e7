/** Reports of use over HTTP: parameters, schema, and the form as JSON or CSV. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { encodeCsv } from '../usage/csv.ts';
import { RANK_FIGURES } from '../usage/use-query.ts';
import type { UseReport } from '../usage/use-report.ts';
import { tableOf } from '../usage/use-table.ts';
import { TextBody } from './http-response.ts';
import type { Parameter } from './openapi/operation.ts';

const parameter = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });

export const USE_PARAMETERS: readonly Parameter[] = [
  parameter(
    'from',
    Type.String(),
    'ISO date or time of the beginning; 30 days ago if absent, or an hour by the minute.',
  ),
  parameter('to', Type.String(), 'ISO date or time of the end; now if absent.'),
  parameter(
    'by',
    Type.String(),
    'Dimensions, separated by commas: one of minute, hour, day, week, month, and model, provider, key, protocol, status, tag:<name>.',
  ),
  parameter('zone', Type.String(), 'Time zone of days, such as Europe/Berlin; UTC if absent.'),
  parameter('model', Type.String(), 'Only this model, as <provider>/<model>.'),
  parameter('provider', Type.String(), 'Only this provider.'),
  parameter('protocol', Type.String(), 'Only this protocol of clients.'),
  parameter('status', Type.String(), 'Only requests that ended so.'),
  parameter('tag', Type.String(), 'Only requests of keys that had the tag, e.g. team=search.'),
  parameter(
    'top',
    Type.Integer({ minimum: 1, maximum: 1000 }),
    'Values of the first dimension, and of the subgroups of each, with the highest cost; the others are one, which is last.',
  ),
  parameter(
    'top_by',
    Type.Unsafe<string>({ type: 'string', enum: RANK_FIGURES }),
    'Figure by which the first values are the highest; cost if absent.',
  ),
  parameter(
    'subgroup',
    Type.String(),
    'Also sums by the dimension of by that is none of time, and then by this one: model, provider, key, protocol, status or tag:<name>.',
  ),
  parameter('compare', Type.Boolean(), 'Also the period before, of the same length.'),
  parameter('format', Type.Unsafe<string>({ type: 'string', enum: ['json', 'csv'] }), 'json if absent.'),
];

const count = Type.Integer({ minimum: 0 });
const counts = {
  requests: count,
  failures: count,
  input_tokens: count,
  output_tokens: count,
  cached_tokens: count,
  cache_write_tokens: count,
  reasoning_tokens: count,
  assessed: Type.Integer({
    minimum: 0,
    description: 'Requests that partial and the estimates are counted of: not those that an earlier version recorded.',
  }),
  partial: Type.Integer({ minimum: 0, description: 'Responses that broke off after their first byte.' }),
  estimated_tokens: Type.Integer({ minimum: 0, description: 'Tokens of requests whose counts are estimates.' }),
  estimated_cost: Type.String({ description: 'USD of requests whose counts are estimates, exact.' }),
  unpriced_tokens: Type.Integer({ minimum: 0, description: 'Tokens of models without a price: not in the cost.' }),
  cost: Type.Union([Type.String(), Type.Null()], {
    description: 'USD, exact; null if it is unknown: models without a price were used, and nothing else cost anything.',
  }),
};
const group = Type.Optional(Type.Union([Type.String(), Type.Null()]));
/** A dimension of a tag has the name `tag:<name>`. */
const row = Type.Object({
  minute: group,
  hour: group,
  day: group,
  week: group,
  month: group,
  model: group,
  provider: group,
  protocol: group,
  status: group,
  key: group,
  key_name: group,
  other: Type.Optional(Type.Boolean({ description: 'Those that are not among the first.' })),
  other_subgroup: Type.Optional(
    Type.Boolean({ description: 'Subgroups that are not among the first of their group.' }),
  ),
  ...counts,
});
const moment = Type.String({ format: 'date-time' });
const total = Type.Object(counts);

export const use = Type.Object({
  object: Type.String(),
  from: moment,
  to: moment,
  zone: Type.String(),
  by: Type.Array(Type.String()),
  subgroup: Type.Union([Type.String(), Type.Null()]),
  data: Type.Array(row),
  subgroups: Type.Union([Type.Array(row), Type.Null()], {
    description: 'By the dimension of by that is none of time, and then by subgroup; null without subgroup.',
  }),
  total,
  models_without_cost: Type.Array(Type.String(), { description: 'Free ones, and those whose price is not known.' }),
  models_without_price: Type.Array(Type.String(), {
    description: 'Those whose price is not known: their cost is not in the sums.',
  }),
  before: Type.Union([
    Type.Object({
      from: moment,
      to: moment,
      data: Type.Array(row, { description: 'By the dimensions that are none of time.' }),
      course: Type.Array(row, { description: 'By the time alone.' }),
      total,
    }),
    Type.Null(),
  ]),
});

/** Format of a query, `json` by default. Throws `invalid_request`. */
export function readFormat(query: URLSearchParams): 'json' | 'csv' {
  const format = query.get('format') ?? 'json';
  if (format === 'json' || format === 'csv') return format;
  throw new GatewayError('invalid_request', 'format must be json or csv.', { param: 'format' });
}

export function encodeUse(report: UseReport, format: 'json' | 'csv'): Json | TextBody {
  if (format === 'json') return report;
  const { columns, rows } = tableOf(report, Object.keys(counts) as (keyof typeof counts)[]);
  const text = encodeCsv(columns, rows);
  const file = `usage-${report.from.slice(0, 10)}.csv`;
  return new TextBody(text, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${file}"`,
    'x-content-type-options': 'nosniff',
  });
}
