/** Schemas and query parameters of the admin API; unknown fields of requests are refused by name. */

import type { Static, TSchema } from 'typebox';
import * as Type from 'typebox';
import type { Json } from '../../core/json/json.ts';
import { protocols, SURFACES } from '../../protocols/index.ts';
import { MAX_LIMIT, PERIODS } from '../../records/key-settings.ts';
import { KEY_NAME, KEY_NAME_RULE, MAX_KEY_NAME, MAX_METADATA_VALUE, MAX_OWNER, MAX_TAGS } from '../../records/tags.ts';
import { CREATED_PARAMETERS } from '../created-span.ts';
import { anyObject, FORMAT, type Parameter } from '../openapi/operation.ts';
import { KEY_STATES } from './key-list.ts';
import { PAGES } from './query.ts';

const closed = { additionalProperties: false };

/** Null removes the setting. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

function maybe<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(nullable(schema));
}

/** A patch may remove as many as it sets. */
const MAX_LABELS_OF_PATCH = 2 * MAX_TAGS;

const positive = Type.Integer({ minimum: 1, maximum: MAX_LIMIT });
const money = Type.String({
  pattern: '^[0-9]{1,6}(\\.[0-9]{1,12})?$',
  errorMessage: 'must be USD as a decimal string such as "25.00"',
});
const limits = Type.Object(
  {
    requests_per_minute: maybe(positive),
    tokens_per_minute: maybe(positive),
    concurrent_requests: maybe(positive),
  },
  closed,
);
const budgets = Type.Object(Object.fromEntries(PERIODS.map((period) => [period, maybe(money)])), closed);

const settings = {
  owner: maybe(Type.String({ minLength: 1, maxLength: MAX_OWNER })),
  tags: maybe(Type.Record(Type.String(), nullable(Type.String()), { maxProperties: MAX_LABELS_OF_PATCH })),
  metadata: maybe(
    Type.Record(Type.String(), nullable(Type.String({ maxLength: MAX_METADATA_VALUE })), {
      maxProperties: MAX_LABELS_OF_PATCH,
    }),
  ),
  models: maybe(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 1000 })),
  surfaces: maybe(Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...SURFACES] }))),
  read_only: maybe(Type.Boolean()),
  store_responses: maybe(Type.Boolean()),
  cidrs: maybe(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 1000 })),
  limits: maybe(limits),
  model_limits: maybe(Type.Record(Type.String({ minLength: 1, maxLength: 256 }), Type.Union([limits, Type.Null()]))),
  budgets: maybe(budgets),
};

/** OpenRouter's fields for one budget. */
const budget = {
  limit: maybe(Type.Number({ minimum: 0, maximum: 999_999 })),
  limit_reset: maybe(Type.Unsafe<string>({ type: 'string', enum: ['daily', 'weekly', 'monthly'] })),
};

const name = Type.String({
  minLength: 1,
  maxLength: MAX_KEY_NAME,
  pattern: KEY_NAME.source,
  errorMessage: KEY_NAME_RULE,
});
const moment = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}(T[\\d:.]+(Z|[+-]\\d{2}:\\d{2}))?$',
  errorMessage: 'must be an ISO date or time such as 2027-01-31T12:00:00Z',
});

export const creation = Type.Object({ name, ...budget, expires_at: maybe(moment), ...settings }, closed);

/** Keys of one request for several. */
export const MAX_BULK_KEYS = 500;

export const bulk = Type.Object(
  {
    keys: Type.Optional(Type.Array(creation, { minItems: 1, maxItems: MAX_BULK_KEYS })),
    csv: Type.Optional(
      Type.String({ maxLength: 200_000, description: 'Instead of keys: a line of column names, then one a key.' }),
    ),
  },
  closed,
);

/** Limits and budgets that all keys with a tag share. */
const tagSettings = { limits: settings.limits, budgets: settings.budgets };
export const allotment = Type.Object(tagSettings, closed);
export const allotmentChange = Type.Object({ ...tagSettings, unchanged_since: maybe(moment) }, closed);

export const change = Type.Object(
  {
    name: Type.Optional(name),
    disabled: Type.Optional(Type.Boolean()),
    unchanged_since: Type.Optional(moment),
    ...budget,
    expires_at: maybe(moment),
    ...settings,
  },
  closed,
);

/** Seconds, up to thirty days. */
const seconds = Type.Optional(Type.Integer({ minimum: 0, maximum: 30 * 24 * 3600 }));

export const rotation = Type.Object({ overlap: seconds }, closed);
export const secretRotation = Type.Object({ activate_in: seconds }, closed);
export const leak = Type.Object(
  { keys: Type.Array(Type.String({ maxLength: 300 }), { minItems: 1, maxItems: 100 }) },
  closed,
);

export const question = Type.Object(
  {
    protocol: Type.Unsafe<string>({ type: 'string', enum: protocols.map(({ id }) => id) }),
    model: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    body: Type.Optional(
      Type.Unsafe<Json>({ type: 'object', description: 'A request of the protocol; an example if absent.' }),
    ),
    policy: Type.Optional(
      Type.Unsafe<Json>({ type: 'object', description: 'Routing policy, as `provider` in a request.' }),
    ),
    ideal: Type.Optional(Type.Boolean({ description: 'As if all endpoints were healthy.' })),
  },
  closed,
);

const MAX_CONFIG_CHARACTERS = 200_000;

export const configText = Type.Object(
  { text: Type.String({ maxLength: MAX_CONFIG_CHARACTERS, description: 'A configuration in YAML.' }) },
  { additionalProperties: false },
);

/** Control characters, in a class. */
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';

export const viewBody = Type.Object(
  {
    name: Type.String({
      maxLength: 60,
      pattern: `^[^\\s${CONTROL}](?:[^${CONTROL}]*[^\\s${CONTROL}])?$`,
      errorMessage: 'must have 1 to 60 characters, without a space at its ends and without control characters',
    }),
    address: Type.String({
      maxLength: 2000,
      pattern: '^/[a-z][a-z0-9-]*(?:\\?[!"$-~]*)?$',
      errorMessage: 'must be path and search of a page, such as /use?by=team, of at most 2000 characters',
      description: 'Path and search of a page, below /ui.',
    }),
  },
  closed,
);

const savedView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  address: Type.String({ description: 'Path and search of a page, below /ui.' }),
  updated_at: Type.String({ format: 'date-time' }),
});
export const viewList = Type.Object({ data: Type.Array(savedView) });
export const oneView = Type.Object({ data: savedView });

/** Response to the removal of something. */
export const deleted = Type.Object({ deleted: Type.Literal(true) });
export const count = Type.Integer({ minimum: 0 });
const videoCounts = {
  tasks: count,
  seconds: Type.Integer({ minimum: 0, description: 'Length of the videos that were made.' }),
  cost: Type.String({ description: 'USD, exact.' }),
};

export const videoSummary = Type.Object({
  data: Type.Object({
    ...videoCounts,
    states: Type.Record(Type.String(), count, { description: 'Tasks by state.' }),
    models: Type.Array(Type.Object({ model: Type.String(), ...videoCounts }), {
      description: 'The one with the most tasks first.',
    }),
    complete: Type.Boolean({ description: 'False where the sums are of the newest tasks only.' }),
  }),
});

const median = Type.Number({ minimum: 0 });

export const modelStatistics = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      first_byte_seconds: median,
      tokens_per_second: nullable(median),
    }),
  ),
});

const prices = Type.Object(
  {
    pricing: Type.Record(Type.String(), Type.String(), { description: 'USD, by priced unit; empty if unknown.' }),
    tiers: Type.Optional(Type.Array(anyObject, { description: 'Prices of long prompts.' })),
  },
  { description: 'Prices of the model.' },
);

export const priceChanges = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      changed_at: Type.String({ format: 'date-time', description: 'When the gateway saw it.' }),
      before: prices,
      after: prices,
    }),
  ),
  since: nullable(Type.String({ format: 'date-time', description: 'Since when prices are remembered.' })),
});

const parameter = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });
const limitOf = ({ least, most, byDefault }: (typeof PAGES)['keys']): Parameter =>
  parameter('limit', Type.Integer({ minimum: least, maximum: most, default: byDefault }), 'Entries on a page.');
const AFTER = parameter('after', Type.String(), 'The `next` of the page before.');
export const KEY_FILTER = parameter('key', Type.String(), 'Only those of a key, by its hash.');
export const VIDEO_MODEL = parameter('model', Type.String(), 'Only those of a model.');
export const VIDEO_INDEX = parameter('index', Type.Integer({ minimum: 0 }), 'Which video of the task.');

export const KEY_PARAMETERS = [
  FORMAT,
  limitOf(PAGES.keys),
  AFTER,
  parameter('offset', Type.Integer({ minimum: 0 }), 'How many to leave out.'),
  parameter('include_disabled', Type.Boolean(), 'Show those too that are disabled or revoked.'),
  parameter(
    'search',
    Type.String(),
    'Only those with this text in name, hash, owner, name=value of a tag, or a value of metadata.',
  ),
  parameter('name', Type.String(), 'Only those with exactly this name.'),
  parameter('tag', Type.String(), 'Only those with a tag, e.g. team=search.'),
  parameter('owner', Type.String(), 'Only those of an owner.'),
  parameter('state', Type.Unsafe<string>({ type: 'string', enum: KEY_STATES }), 'Only those in a state.'),
];

export const TAG_PARAMETERS = [
  FORMAT,
  limitOf(PAGES.tags),
  AFTER,
  parameter('search', Type.String(), 'Only those with this text in name=value.'),
];

export const AUDIT_PARAMETERS = [
  limitOf(PAGES.audit),
  AFTER,
  parameter('subject', Type.String(), 'What was changed.'),
  parameter('search', Type.String(), 'Only those with this text in actor, action, subject, or id of the request.'),
  FORMAT,
];

export const VIDEO_PARAMETERS = [
  FORMAT,
  limitOf(PAGES.videos),
  AFTER,
  parameter('status', Type.String(), 'Only those with this status.'),
  VIDEO_MODEL,
  KEY_FILTER,
  ...CREATED_PARAMETERS,
  parameter(
    'search',
    Type.String(),
    'Only those with this text in id, model, or the first 500 characters of the prompt.',
  ),
];

export const MODEL_PARAMETERS = [
  limitOf(PAGES.models),
  parameter('after', Type.String(), 'Id of the last model of the page before.'),
  parameter('provider', Type.String(), 'Only those of a provider.'),
  parameter('search', Type.String(), 'Only those with this text in their id or name.'),
  parameter('zero_retention', Type.Boolean(), 'Only those with an endpoint that is configured as keeping nothing.'),
  parameter('endpoint', Type.String(), 'Only those with this endpoint: `<provider>/<upstream model>`.'),
  parameter('id', Type.String(), 'Only this model, with the keys that used it and what the configuration says of it.'),
];

export type ViewBody = Static<typeof viewBody>;
export type ConfigText = Static<typeof configText>;
export type Question = Static<typeof question>;
export type TagAllotment = Static<typeof allotment>;
export type KeyCreation = Static<typeof creation>;
export type KeyChange = Static<typeof change>;
