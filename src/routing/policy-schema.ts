/** Schema of the `provider` object in all supported dialects. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { PERCENTILES, PRICES } from './policy.ts';

const Name = Type.String({ minLength: 1, maxLength: 300 });
const Names = Type.Array(Name, { maxItems: 100 });
const Flag = Type.Boolean();
const Closed = { additionalProperties: false };

function optional(keys: readonly string[], schema: TSchema): Record<string, TSchema> {
  return Object.fromEntries(keys.map((key) => [key, Type.Optional(schema)]));
}

const Bound = Type.Number({ exclusiveMinimum: 0 });
const Bounds = Type.Union([Bound, Type.Object(optional(PERCENTILES, Bound), Closed)]);
const Price = Type.Union([
  Type.Number({ minimum: 0 }),
  Type.String({ pattern: '^[0-9]{1,12}(\\.[0-9]{1,18})?$', errorMessage: 'must be a decimal number of USD' }),
]);
const Sort = Type.Enum(['price', 'throughput', 'latency', 'exacto']);

/** Grouped by dialect; a field that two dialects share appears once. */
export const providerSchema = Type.Object(
  {
    ...optional(['order', 'only', 'ignore', 'models', 'quantizations'], Names),
    ...optional(['allow_fallbacks', 'require_parameters', 'zdr', 'enforce_distillable_text'], Flag),
    data_collection: Type.Optional(Type.Enum(['allow', 'deny'])),
    sort: Type.Optional(
      Type.Union([Sort, Type.Object({ by: Sort, partition: Type.Optional(Type.Enum(['model', 'none'])) }, Closed)]),
    ),
    ...optional(['preferred_min_throughput', 'preferred_max_latency'], Bounds),
    max_price: Type.Optional(Type.Object(optional(PRICES, Price), Closed)),

    routing: Type.Optional(
      Type.Union([
        Type.Enum(['priority', 'cost', 'latency', 'balanced']),
        Type.Object(
          {
            type: Type.Optional(Type.Enum(['priority', 'order', 'round_robin', 'least_latency'])),
            primary_factor: Type.Optional(Type.Enum(['latency', 'price', 'throughput', 'cost', 'speed', 'quality'])),
            providers: Type.Optional(Names),
          },
          Closed,
        ),
      ]),
    ),
    fallback: Type.Optional(Type.Union([Type.Array(Name, { maxItems: 20 }), Name, Flag])),

    type: Type.Optional(Name),
    options: Type.Optional(Type.Record(Type.String(), Type.Object({}))),
  },
  Closed,
);
