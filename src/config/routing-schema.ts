/** Configuration schema: models with several endpoints, aliases and routing. */

import * as Type from 'typebox';
import { duration } from './fields.ts';
import { pricing } from './model-schema.ts';

/** Defaults, spelled as in the file. */
export const ROUTING_DEFAULTS = { priority: 0, cooldown: '10s' };

const closed = { additionalProperties: false };

const dataPolicy = Type.Object(
  {
    zdr: Type.Optional(Type.Boolean({ description: 'Zero data retention.' })),
    training: Type.Optional(Type.Boolean({ description: 'Requests are trained on.' })),
    distillable: Type.Optional(Type.Boolean({ description: 'Its output may be used to train other models.' })),
  },
  { ...closed, description: 'Data policy of the endpoint. An absent field satisfies no request that requires it.' },
);

const endpoint = Type.Object(
  {
    provider: Type.String({ minLength: 1, description: 'Id of a provider.' }),
    model: Type.String({ minLength: 1, description: 'Id of the model as that provider knows it.' }),
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        default: ROUTING_DEFAULTS.priority,
        description: 'Endpoints with a lower number are tried first.',
      }),
    ),
    weight: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description: 'Share of the conversations among endpoints of one priority. By default cheaper ones get more.',
      }),
    ),
    pricing: Type.Optional(pricing),
    data_policy: Type.Optional(dataPolicy),
    quantization: Type.Optional(Type.String({ minLength: 1, description: 'Precision of the weights, e.g. fp8.' })),
  },
  { ...closed, description: 'A model at a provider.' },
);

export const models = Type.Record(
  Type.String({ pattern: '^[^/\\s]+/\\S+$' }),
  Type.Object(
    { endpoints: Type.Array(endpoint, { minItems: 1, description: 'Endpoints that serve the model.' }) },
    { ...closed, description: 'A model with several endpoints.' },
  ),
  {
    ...closed,
    description: 'Models by the name that clients use, <provider>/<model>, with their endpoints.',
  },
);

export const aliases = Type.Record(Type.String({ minLength: 1 }), Type.String({ minLength: 1 }), {
  description: 'Model names by alias. In an alias * stands for any characters.',
});

export const defaultModel = Type.String({
  minLength: 1,
  description: 'Model of requests that name none, and of the name auto.',
});

export const routing = Type.Object(
  {
    sort: Type.Optional(
      Type.Unsafe<'price' | 'latency' | 'throughput'>({
        type: 'string',
        enum: ['price', 'latency', 'throughput'],
        description: 'Order of endpoints for requests that ask for none. Absent means by priority and weight.',
      }),
    ),
    fallback_models: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description: 'Models to try when the one that was asked for fails, for requests that name none.',
      }),
    ),
    bare_names: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        description:
          'Providers in the order in which a model named without a provider is looked for. The others follow: the vendor of the model, then in the order of the file.',
      }),
    ),
    cooldown: Type.Optional(
      duration('Cooldown of an endpoint after failures; each failed probe doubles it.', ROUTING_DEFAULTS.cooldown),
    ),
  },
  { ...closed, description: 'Routing: how endpoints are chosen.' },
);
