/** Schemas of responses about requests. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';

/** Requests after a first page of conversations that its total has, too. */
export const COUNTED_AFTER = 5000;

const count = Type.Integer({ minimum: 0 });
const moment = Type.String({ format: 'date-time' });
const text = Type.String();
const money = Type.String({ description: 'USD, exact; null if no cost is known.' });

function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

const request = {
  id: text,
  started_at: moment,
  ended_at: nullable(moment),
  key_hash: text,
  key_name: nullable(text),
  tags: Type.Record(text, text, { description: 'Of the key when the request began.' }),
  requested_model: Type.String({ description: 'As the client named it.' }),
  model: Type.String({ description: '<provider>/<model> that answered.' }),
  provider: text,
  protocol: Type.String({ description: 'Of the client.' }),
  upstream_protocol: text,
  streamed: Type.Boolean(),
};

const ended = {
  ...request,
  status: Type.Unsafe<string>({
    type: 'string',
    enum: ['completed', 'partial', 'failed', 'cancelled', 'interrupted', 'running'],
  }),
  error_code: nullable(text),
  finish_reason: nullable(text),
  attempts: count,
  endpoint_number: Type.Union([count, Type.Null()], {
    description: 'Which of the endpoints that were tried was the last, from 1; null without a trace.',
  }),
  input_tokens: count,
  output_tokens: count,
  cached_tokens: count,
  cache_write_tokens: count,
  reasoning_tokens: count,
  tool_failures: Type.Union([count, Type.Null()], {
    description:
      'Results of tools since the last answer that say that the tool failed; null if the protocol does not say it.',
  }),
  estimated: Type.Boolean({ description: 'Whether a token count is an estimate.' }),
  cost: nullable(Type.String({ description: 'USD, exact; null if the model has no price, or while it runs.' })),
  first_byte_ms: nullable(count),
  total_ms: nullable(count),
  upstream_id: nullable(text),
  session: nullable(text),
  dropped: Type.Array(text, { description: 'Fields that were dropped.' }),
  path: nullable(text),
};

export const listedRequest = Type.Object(ended);

export const requestList = Type.Object({
  data: Type.Array(listedRequest),
  next: nullable(text),
  live: nullable(text),
  searched_to: nullable(moment),
});

const candidate = Type.Object({
  endpoint: text,
  model: text,
  credential: Type.Optional(count),
  price: Type.Optional(Type.Number({ description: 'USD for a million input and a million output tokens.' })),
  left_out: Type.Optional(Type.String({ description: 'Reason; absent if it could be tried.' })),
});

const attempt = Type.Object({
  endpoint: text,
  credential: nullable(count),
  path: text,
  started_ms: Type.Integer({ minimum: 0, description: 'Since the request was read and admitted.' }),
  connect_ms: Type.Union([count, Type.Null()], {
    description:
      'Until there was a connection, and a token where one is fetched; 0 for a connection that was kept alive; null without one, and where it was not kept.',
  }),
  first_byte_ms: nullable(count),
  total_ms: count,
  status: nullable(count),
  error: nullable(text),
  dropped: Type.Array(text),
  note: nullable(text),
  cooldown_ms: Type.Union([count, Type.Null()], {
    description: 'Milliseconds of the cooldown that it began, or null.',
  }),
  response_headers: Type.Record(text, text, {
    description:
      'Request id, processing time and remaining limits as the upstream named them; empty for holders of keys.',
  }),
});

const trace = Type.Object({
  session: nullable(text),
  policy: nullable(Type.Object({})),
  candidates: Type.Array(candidate),
  attempts: Type.Array(attempt),
  dropped: Type.Array(text),
  check_ms: Type.Union([count, Type.Null()], {
    description: 'From the head of the request until it was read and admitted; null where it was not kept.',
  }),
  request_headers: Type.Record(text, text, {
    description: 'The program of the client and its versions, as far as its headers name them.',
  }),
});

const charge = Type.Object(
  {
    basis: Type.Unsafe<string>({
      type: 'string',
      enum: ['prices', 'provider', 'free', 'nothing', 'unknown'],
      description:
        'Prices of the moment; what the provider reported; a free operation; an answer without content; no known price.',
    }),
    service_tier: nullable(
      Type.String({ description: 'Service tier that the response was charged by; null for the standard one.' }),
    ),
    assumed: Type.Boolean({ description: 'Whether the prices of the service tier are not known, and were assumed.' }),
    limited: Type.Boolean({
      description: 'Whether the cost is 5,000 USD, the most of one request, and the lines add up to more.',
    }),
    lines: Type.Array(
      Type.Object({
        kind: Type.String({ description: 'Of tokens, e.g. input, cached, cache_write or output; searches, requests.' }),
        count,
        price: Type.String({ description: 'USD for one.' }),
        price_per_million: money,
        cost: money,
      }),
      { description: 'They add up to the cost, unless it is limited; empty for another basis than prices.' },
    ),
  },
  { description: 'What the cost is made of; null where that was not kept.' },
);

export const requestDetail = Type.Object({
  data: Type.Object({ ...ended, charge: nullable(charge), trace: nullable(trace) }),
});

const failures = Type.Integer({ minimum: 0, description: 'Requests that no endpoint answered: status `failed`.' });
const partial = Type.Integer({ minimum: 0, description: 'Responses that broke off after their first byte.' });
const unknownCosts = Type.Integer({
  minimum: 0,
  description: 'Requests to models without a price: what they cost is unknown, and not in the cost.',
});
const estimates = {
  estimated_tokens: Type.Integer({ minimum: 0, description: 'Tokens of requests whose counts are estimates.' }),
  estimated_cost: Type.String({ description: 'USD of requests whose counts are estimates, exact; part of the cost.' }),
};
const percentiles = Type.Object({ p50: nullable(count), p95: nullable(count) });

export const requestSummary = Type.Object({
  data: Type.Object({
    from: Type.Unsafe<string>({
      ...moment,
      description:
        'Beginning of the span that is summed up: of an hour, and so earlier than asked for, where requests are many.',
    }),
    to: moment,
    requests: count,
    failures,
    partial,
    interrupted: Type.Integer({ minimum: 0, description: 'Requests whose gateway died.' }),
    input_tokens: count,
    output_tokens: count,
    cost: nullable(money),
    unknown_costs: unknownCosts,
    ...estimates,
    first_byte_ms: percentiles,
    total_ms: percentiles,
    complete: Type.Boolean({
      description:
        'Whether every request of the span is counted; else the newest ones are, from the end of the oldest of them on.',
    }),
    timed: Type.Integer({
      minimum: 0,
      description:
        'Requests that the times are of: all of them; those that are counted by their times, which earlier versions did not; or the newest ones.',
    }),
    times_estimated: Type.Boolean({
      description:
        'Whether percentiles are estimates from counts of requests, in 16 buckets whose bounds double from 25 ms on: between half and twice the exact value. Times over 409.6 s are given as 409.6 s.',
    }),
    running: Type.Integer({ minimum: 0, description: 'Requests that run now, however many, whatever the span is.' }),
    running_ignores: Type.Array(text, {
      description:
        'Filters that nobody knows of a request that runs: `running` counts also those that may not meet them.',
    }),
  }),
});

export const requestSessions = Type.Object({
  data: Type.Array(
    Type.Object({
      session: text,
      keys: Type.Array(Type.Object({ hash: text, name: nullable(text) })),
      models: Type.Array(text),
      requests: count,
      failures,
      partial,
      input_tokens: count,
      output_tokens: count,
      cached_tokens: count,
      tool_failures: Type.Union([count, Type.Null()], {
        description: 'Results of tools that say that the tool failed; null if the protocols do not say it.',
      }),
      cost: nullable(money),
      unknown_costs: unknownCosts,
      ...estimates,
      first_at: moment,
      last_at: moment,
    }),
  ),
  complete: Type.Boolean({ description: 'Whether no request of the span is older than those that are counted.' }),
  next: Type.Union([text, Type.Null()], { description: 'Cursor `after` for the sums of older requests.' }),
  total: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `Conversations of this page and of the ${COUNTED_AFTER} requests after it; absent on later pages.`,
    }),
  ),
  total_complete: Type.Optional(Type.Boolean({ description: 'False if there are requests that were not counted.' })),
});
