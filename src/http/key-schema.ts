/** Schemas of keys in responses: their permissions, the limits and budgets that apply, and their use. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { PERIODS } from '../records/key-settings.ts';

const money = (description: string) => Type.String({ description: `USD, exact: ${description}.` });

function byPeriod<Schema extends TSchema>(schema: Schema, description: string) {
  return Type.Object(Object.fromEntries(PERIODS.map((period) => [period, Type.Optional(schema)])), { description });
}

function byLimit<Schema extends TSchema>(schema: Schema, description: string) {
  return Type.Object(
    {
      requests_per_minute: Type.Optional(schema),
      tokens_per_minute: Type.Optional(schema),
      concurrent_requests: Type.Optional(schema),
    },
    { description },
  );
}

const limits = (description: string) => byLimit(Type.Integer({ minimum: 1 }), description);

const UNPRICED = 'Tokens of models without a price when they were used: not in spent.';

const use = {
  limit: money('what may be spent in the period'),
  spent: money('what is spent'),
  spent_estimated: money('part of spent, by requests whose token counts are estimates'),
  spent_videos: money('part of spent, for videos'),
  unpriced_tokens: Type.Integer({ minimum: 0, description: UNPRICED }),
  held: money(
    'what open video tasks and running requests may still cost; of other gateways, as of 5 seconds ago at most',
  ),
  held_complete: Type.Boolean({
    description:
      'Whether every gateway told what its requests hold; otherwise, held may be more: one is of an older version, or holds of more than 1,000 budgets.',
  }),
  left: money('limit less spent and held, at least 0'),
  resets_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'End of the period; null for total.',
  }),
};
const from = Type.Unsafe<string>({
  type: 'string',
  enum: ['key', 'defaults'],
  description: 'Where it is set: in the key, or in key_defaults of the configuration.',
});

const effective = {
  limits: byLimit(Type.Object({ limit: Type.Integer({ minimum: 1 }), from }), 'Absent where there is no limit.'),
  budgets: byPeriod(Type.Object({ ...use, from }), 'Absent where there is no budget.'),
};
const EFFECTIVE = { description: 'Limits and budgets that apply to the key, each with its origin.' };

const ofPeriods = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Object(Object.fromEntries(PERIODS.map((period) => [period, schema])), { description });
const spent = (description: string) => ofPeriods(Type.String(), description);
const spentParts = {
  spent: spent('Spent in the current day, week and month, and in total: USD, exact.'),
  spent_estimated: spent('Part of spent, by requests whose token counts are estimates: USD, exact.'),
  spent_videos: spent('Part of spent, for videos: USD, exact.'),
  unpriced_tokens: ofPeriods(Type.Integer({ minimum: 0 }), UNPRICED),
};

const allotment = {
  limits: limits('Of all keys with the tag together.'),
  budgets: byPeriod(Type.Object(use), 'Of all keys with the tag together.'),
  ...spentParts,
};
const allotments = Type.Record(Type.String(), Type.Object(allotment), {
  description: 'Tags of the key that have limits or budgets, by name=value.',
});

const usd = (description: string) => Type.Number({ description: `${description}, in USD; not exact.` });
const spending = {
  limit: Type.Union([Type.Number(), Type.Null()], { description: 'Of the budget with the least left.' }),
  limit_remaining: Type.Union([Type.Number(), Type.Null()]),
  limit_reset: Type.Union([Type.String(), Type.Null()]),
  usage: usd('Spent in all'),
  usage_daily: usd('Spent today'),
  usage_weekly: usd('Spent this week'),
  usage_monthly: usd('Spent this month'),
  ...spentParts,
  held: byPeriod(
    Type.String(),
    'What open video tasks and running requests may still cost, of each budget: USD, exact.',
  ),
};

const list = (description: string) => Type.Union([Type.Array(Type.String()), Type.Null()], { description });
const permissions = {
  models: list('Globs of the models that the key may use; null for all.'),
  surfaces: list('Protocols, and videos, that the key may use; null for all.'),
  cidrs: list('Address ranges from which the key may be used; null for any.'),
  read_only: Type.Boolean({ description: 'Whether the key may start nothing.' }),
  model_limits: Type.Record(Type.String(), limits('Limits of one model.'), {
    description: 'Limits of each model that matches a glob, in addition to those of the key.',
  }),
};

const moment = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description: `${description}; null without one.` });

const key = {
  hash: Type.String({ description: 'Id of the key.' }),
  label: Type.String({ description: 'Beginning of the secret.' }),
  name: Type.String(),
  ...spending,
  ...permissions,
  tags: Type.Record(Type.String(), Type.String()),
  limits: limits('Those that the key sets itself.'),
  budgets: byPeriod(Type.String(), 'Those that the key sets itself: USD, exact.'),
  disabled: Type.Boolean({ description: 'Whether it is disabled or revoked.' }),
  owner: Type.Union([Type.String(), Type.Null()]),
  metadata: Type.Record(Type.String(), Type.String()),
  store_responses: Type.Union([Type.Boolean(), Type.Null()], {
    description: 'Whether responses are stored; null for as the configuration says.',
  }),
  state: Type.Unsafe<string>({ type: 'string', enum: ['active', 'expired', 'disabled', 'revoked'] }),
  origin: Type.Unsafe<string>({
    type: 'string',
    enum: ['store', 'configuration'],
    description: 'Where the key is set.',
  }),
  created_at: moment('Creation'),
  updated_at: moment('Last change of its settings'),
  expires_at: moment('Expiry'),
  last_used_at: moment('Last use, to the minute'),
  secret_last_used_at: moment('Last use of its newest secret, to the minute'),
  revoked_at: moment('Revocation'),
  previous_until: moment('End of the secret before'),
};

const listedKey = Type.Object({ ...key, effective: Type.Object(effective, EFFECTIVE) });

export const keyList = Type.Object({
  data: Type.Array(listedKey),
  next: Type.Union([Type.String(), Type.Null()]),
  total: Type.Integer({ minimum: 0, description: 'Keys that the filters leave.' }),
  default_tags: Type.Record(Type.String(), Type.String(), {
    description: 'Tags of a new key that has no value for their names, by key_defaults of the configuration.',
  }),
});

const wholeKey = Type.Object({ ...key, effective: Type.Object({ ...effective, tags: allotments }, EFFECTIVE) });
export const oneKey = Type.Object({ data: wholeKey });

const secrets = {
  key: Type.String({ description: 'The secret, which is not shown again.' }),
  webhook_secret: Type.Union([Type.String(), Type.Null()], { description: 'Signs its webhooks.' }),
};
export const createdKey = Type.Object({ data: wholeKey, ...secrets });
export const createdKeys = Type.Object({ data: Type.Array(Type.Object({ data: listedKey, ...secrets })) });
export const rotatedKey = Type.Object({ data: wholeKey, key: secrets.key });
export const revokedKeys = Type.Object({
  data: Type.Array(wholeKey),
  unknown: Type.Integer({ minimum: 0, description: 'Texts that are no keys of the gateway.' }),
});

const webhookSecret = Type.Object({
  secret: Type.String(),
  active_at: moment('From when on it signs'),
});
export const webhookSecrets = Type.Object({ data: Type.Array(webhookSecret) });
export const rotatedWebhookSecret = Type.Object({ data: webhookSecret });

const tag = Type.Object({
  tag: Type.String({ description: 'As name=value.' }),
  keys: Type.Integer({ minimum: 0, description: 'Keys that have it.' }),
  origin: Type.Union([key.origin, Type.Null()], { description: 'Where its limits and budgets are set.' }),
  updated_at: moment('Last change of the limits and budgets that are stored'),
  ...allotment,
});
export const oneTag = Type.Object({ data: tag });
export const tagList = Type.Object({
  data: Type.Array(tag),
  names: Type.Array(Type.String(), { description: 'Names of all tags.' }),
  total: Type.Integer({ minimum: 0, description: 'Tags that the filters leave.' }),
  next: Type.Union([Type.String(), Type.Null()]),
});

export const ownKey = Type.Object({
  data: Type.Object({
    label: Type.String({ description: 'Beginning of the secret.' }),
    name: Type.String(),
    ...spending,
    ...permissions,
    limits: limits('Those that apply to the key.'),
    budgets: byPeriod(Type.String(), 'Those that apply to the key: USD, exact.'),
    effective: Type.Object(effective, EFFECTIVE),
    tags: allotments,
    expires_at: moment('Expiry'),
  }),
});
