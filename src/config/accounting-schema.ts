/** Configuration schema: usage records, limits, budgets, the admin API and telemetry. */

import { type Static, type TString, Type } from 'typebox';
import { SURFACES } from '../protocols/surfaces.ts';
import type { Period } from '../records/key-settings.ts';
import { addressRange, httpUrl, retentionPeriod, size } from './fields.ts';

/** Defaults, spelled as in the file. */
export const ACCOUNTING_DEFAULTS = {
  durability: 'strict' as const,
  keep: '30d',
  maxSize: '5GiB',
  adminHost: '127.0.0.1',
  adminPort: 8081,
};

const closed = { additionalProperties: false };

const limitFields = {
  requests_per_minute: Type.Optional(Type.Integer({ minimum: 1, description: 'Requests in a minute.' })),
  tokens_per_minute: Type.Optional(Type.Integer({ minimum: 1, description: 'Tokens in a minute, in and out.' })),
  concurrent_requests: Type.Optional(Type.Integer({ minimum: 1, description: 'Requests at once.' })),
};

export const limits = Type.Object(limitFields, { ...closed, description: 'What a key may use at most.' });

function money(description: string): TString {
  return Type.String({
    pattern: '^[0-9]{1,6}(\\.[0-9]{1,12})?$',
    errorMessage: 'must be USD in quotes, e.g. "25.00"',
    description,
  });
}

/** One entry for each of `PERIODS`. */
const budgets: Record<Period, TString> = {
  day: money('USD in a day.'),
  week: money('USD in a week, from Monday.'),
  month: money('USD in a month.'),
  total: money('USD in all.'),
};

/** Permissions, limits and budgets of an API key. */
export const keySettings = {
  surfaces: Type.Optional(
    Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...SURFACES] }), {
      description: 'What it may call: chat, messages, generate, videos. Absent means all.',
    }),
  ),
  read_only: Type.Optional(
    Type.Boolean({ default: false, description: 'It may look at its own use and tasks, and start nothing.' }),
  ),
  cidrs: Type.Optional(Type.Array(addressRange(), { description: 'Addresses that may use it. Absent means any.' })),
  limits: Type.Optional(limits),
  model_limits: Type.Optional(
    Type.Record(Type.String({ minLength: 1 }), limits, {
      description: 'Limits of each model that a glob such as openai/* meets.',
    }),
  ),
  budgets: Type.Optional(
    Type.Partial(Type.Object(budgets), {
      ...closed,
      description: 'USD that it may spend in a day, a week, a month and in all. Days are UTC.',
    }),
  ),
};

export const usage = Type.Object(
  {
    durability: Type.Optional(
      Type.Union([Type.Literal('strict'), Type.Literal('batched')], {
        default: ACCOUNTING_DEFAULTS.durability,
        description:
          'strict: an answer ends when its record is on disk. batched: it does not wait; a crash loses the last records.',
      }),
    ),
    keep: Type.Optional(retentionPeriod('How long records of single requests are kept.', ACCOUNTING_DEFAULTS.keep)),
    max_size: Type.Optional(size('What they may take on disk; the oldest go first.', ACCOUNTING_DEFAULTS.maxSize)),
  },
  { ...closed, description: 'The record of what was used. Sums by the hour are kept for good.' },
);

export const admin = Type.Object(
  {
    token: Type.Optional(
      Type.String({
        pattern: '^\\S{32,200}$',
        errorMessage: 'must be at least 32 characters, e.g. from: openssl rand -hex 32',
        description: `Opens the admin API, usually "\${POLYGATE_ADMIN_TOKEN}"; without one there is none.`,
      }),
    ),
    host: Type.Optional(
      Type.String({ minLength: 1, default: ACCOUNTING_DEFAULTS.adminHost, description: 'Address it listens on.' }),
    ),
    port: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 65535, default: ACCOUNTING_DEFAULTS.adminPort, description: 'Its port.' }),
    ),
  },
  { ...closed, description: 'The API that makes and changes keys, on a listener of its own.' },
);

const otlp = Type.Object(
  {
    endpoint: httpUrl('Where an OpenTelemetry collector takes HTTP, e.g. http://127.0.0.1:4318.'),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }), Type.String(), {
        ...closed,
        description: 'Headers of what is sent there.',
      }),
    ),
  },
  { ...closed, description: 'Where traces and metrics are sent.' },
);

export const telemetry = Type.Object(
  {
    otlp: Type.Optional(otlp),
    propagate: Type.Optional(Type.Boolean({ default: false, description: 'Pass the trace context on to upstreams.' })),
  },
  { ...closed, description: 'What the gateway shows of itself.' },
);

export type LimitsEntry = Static<typeof limits>;
export type UsageEntry = Static<typeof usage>;
export type AdminEntry = Static<typeof admin>;
export type TelemetryEntry = Static<typeof telemetry>;
