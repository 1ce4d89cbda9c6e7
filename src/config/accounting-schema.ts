/** Configuration schema: usage records, limits, budgets, the admin API and telemetry. */

import type { Static, TString } from 'typebox';
import * as Type from 'typebox';
import { SURFACES } from '../protocols/index.ts';
import { MAX_LIMIT, type Period } from '../records/key-settings.ts';
import { MAX_METADATA, MAX_METADATA_VALUE, MAX_OWNER, MAX_TAGS } from '../records/tags.ts';
import { addressRange, httpUrl, retentionPeriod, size } from './fields.ts';
import { s3 } from './videos-schema.ts';

/** Defaults, spelled as in the file. */
export const ACCOUNTING_DEFAULTS = {
  durability: 'strict' as const,
  journal: 'shared' as const,
  keep: '30d',
  maxSize: '5GiB',
  trace: 'all' as const,
  adminHost: '127.0.0.1',
  adminPort: 8081,
  ui: true,
  uiAdminOnPublic: false,
  uiCapture: true,
};

const closed = { additionalProperties: false };

const limit = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, description }));

const limitFields = {
  requests_per_minute: limit('Requests per minute.'),
  tokens_per_minute: limit('Tokens per minute, input and output.'),
  concurrent_requests: limit('Concurrent requests.'),
};

export const limits = Type.Object(limitFields, { ...closed, description: 'Limits of a key.' });

function money(description: string): TString {
  return Type.String({
    pattern: '^[0-9]{1,6}(\\.[0-9]{1,12})?$',
    errorMessage: 'must be USD in quotes, e.g. "25.00"',
    description,
  });
}

/** One entry for each of `PERIODS`. */
const budgetFields: Record<Period, TString> = {
  day: money('USD per day.'),
  week: money('USD per week, starting on Monday.'),
  month: money('USD per month.'),
  total: money('USD in total.'),
};
const budgets = Type.Partial(Type.Object(budgetFields), {
  ...closed,
  description: 'Budgets in USD per day, week and month, and in total. Days are UTC.',
});
const allotment = Type.Object({ limits: Type.Optional(limits), budgets: Type.Optional(budgets) }, closed);

const labels = (description: string) =>
  Type.Record(Type.String(), Type.String(), { maxProperties: MAX_TAGS, description });

export const keyDefaults = Type.Object(
  {
    ...allotment.properties,
    tags: Type.Optional(labels('Tags of each new key that has no value for the name itself, e.g. team: unassigned.')),
  },
  { ...closed, description: 'Limits, budgets and tags of each key that does not set them itself.' },
);

export const tags = Type.Record(
  Type.String(),
  Type.Object(allotment.properties, { ...closed, description: 'Limits and budgets of all keys with a tag together.' }),
  { description: 'Limits and budgets of tags such as team=search: all keys with the tag share them.' },
);

/** Holder, permissions, limits and budgets of an API key. */
export const keySettings = {
  owner: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_OWNER, description: 'Person or team that holds the key.' }),
  ),
  tags: Type.Optional(labels('Groups that it belongs to, by name, e.g. team: search. Its usage records keep them.')),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: MAX_METADATA_VALUE }), {
      maxProperties: MAX_METADATA,
      description: 'Notes, by name.',
    }),
  ),
  surfaces: Type.Optional(
    Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...SURFACES] }), {
      description: 'Surfaces it may call: chat, messages, generate, responses, videos. Absent means all.',
    }),
  ),
  store_responses: Type.Optional(
    Type.Boolean({ description: 'Whether its responses are stored. Absent means as responses.store says.' }),
  ),
  read_only: Type.Optional(
    Type.Boolean({ default: false, description: 'Read-only: may read its own usage and tasks, and start nothing.' }),
  ),
  cidrs: Type.Optional(Type.Array(addressRange(), { description: 'Addresses that may use it. Absent means any.' })),
  limits: Type.Optional(limits),
  model_limits: Type.Optional(
    Type.Record(Type.String({ minLength: 1 }), limits, {
      description: 'Limits of each model that matches a glob such as openai/*.',
    }),
  ),
  budgets: Type.Optional(budgets),
};

export const usage = Type.Object(
  {
    durability: Type.Optional(
      Type.Union([Type.Literal('strict'), Type.Literal('batched')], {
        default: ACCOUNTING_DEFAULTS.durability,
        description:
          'strict: a response ends when its usage record is on disk. batched: it does not wait, and a crash loses the last records.',
      }),
    ),
    journal: Type.Optional(
      Type.Union([Type.Literal('shared'), Type.Literal('local')], {
        default: ACCOUNTING_DEFAULTS.journal,
        description:
          'With PostgreSQL, shared: records are in the database before a response ends. local: they are on the disk of this machine first. The embedded store is always local.',
      }),
    ),
    keep: Type.Optional(
      retentionPeriod('How long usage records of single requests are kept.', ACCOUNTING_DEFAULTS.keep),
    ),
    max_size: Type.Optional(
      size('Maximum size of usage records on disk; the oldest are removed first.', ACCOUNTING_DEFAULTS.maxSize),
    ),
    export: Type.Optional(
      Type.Object(
        {
          folder: Type.Optional(
            Type.String({ minLength: 1, description: 'Folder of the objects, the same for all gateways of a store.' }),
          ),
          s3: Type.Optional(s3),
        },
        { ...closed, description: 'Export of usage records as JSON lines, by the hour; folder or s3.' },
      ),
    ),
    trace: Type.Optional(
      Type.Union([Type.Literal('all'), Type.Literal('problems'), Type.Literal('none')], {
        default: ACCOUNTING_DEFAULTS.trace,
        description:
          'Of which requests it is stored with the record how they were routed: all, problems (not completed, tried again, or with dropped fields), or none.',
      }),
    ),
  },
  { ...closed, description: 'Usage records. Hourly sums are kept forever.' },
);

export const admin = Type.Object(
  {
    token: Type.Optional(
      Type.String({
        pattern: '^\\S{32,200}$',
        errorMessage: 'must be at least 32 characters, e.g. from: openssl rand -hex 32',
        writeOnly: true,
        description: `Token of the admin API, usually "\${POLYGATE_ADMIN_TOKEN}"; absent disables it.`,
      }),
    ),
    host: Type.Optional(
      Type.String({ minLength: 1, default: ACCOUNTING_DEFAULTS.adminHost, description: 'Address to listen on.' }),
    ),
    port: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 65535,
        default: ACCOUNTING_DEFAULTS.adminPort,
        description: 'Port to listen on.',
      }),
    ),
    public_url: Type.Optional(
      httpUrl('Base URL at which browsers reach this listener, e.g. https://admin.example.com.'),
    ),
  },
  { ...closed, description: 'The admin API for keys, on its own listener.' },
);

export const ui = Type.Object(
  {
    enabled: Type.Optional(
      Type.Boolean({
        default: ACCOUNTING_DEFAULTS.ui,
        description: 'Whether sessions of the dashboard can be opened.',
      }),
    ),
    admin_on_public: Type.Optional(
      Type.Boolean({
        default: ACCOUNTING_DEFAULTS.uiAdminOnPublic,
        description:
          'Serve the operator, too, at the address of clients; only behind TLS. Where that is on loopback without another public URL, it always does.',
      }),
    ),
    capture: Type.Optional(
      Type.Boolean({
        default: ACCOUNTING_DEFAULTS.uiCapture,
        description: 'Whether the playground may show the requests to upstreams and their responses.',
      }),
    ),
  },
  { ...closed, description: 'The dashboard.' },
);

const otlp = Type.Object(
  {
    endpoint: httpUrl('URL of an OpenTelemetry collector (OTLP over HTTP), e.g. http://127.0.0.1:4318.'),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }), Type.String({ writeOnly: true }), {
        ...closed,
        description: 'Headers of requests to the collector.',
      }),
    ),
  },
  { ...closed, description: 'OpenTelemetry export of traces and metrics.' },
);

export const telemetry = Type.Object(
  {
    otlp: Type.Optional(otlp),
    propagate: Type.Optional(Type.Boolean({ default: false, description: 'Send the trace context to upstreams.' })),
    budget_keys: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
        maxItems: 200,
        uniqueItems: true,
        description: 'Names of keys whose budgets are in the metrics. Absent means none.',
      }),
    ),
  },
  { ...closed, description: 'Telemetry.' },
);

export type LimitsEntry = Static<typeof limits>;
export type AllotmentEntry = Static<typeof allotment>;
export type UsageEntry = Static<typeof usage>;
export type AdminEntry = Static<typeof admin>;
export type UiEntry = Static<typeof ui>;
export type TelemetryEntry = Static<typeof telemetry>;
