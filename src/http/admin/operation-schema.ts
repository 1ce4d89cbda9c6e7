/** Schemas of responses about the operation of gateways: providers, models, endpoints, replicas, configuration and store. */

import type { Static } from 'typebox';
import * as Type from 'typebox';
import { countedList } from '../list-total.ts';
import { anyObject } from '../openapi/operation.ts';
import { count, nullable } from './schema.ts';

const text = Type.String();
const moment = Type.String({ format: 'date-time' });
const oneOf = <Value extends string>(values: Value[], description: string) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, description });
const optional = Type.Optional;
/** A value of any type. */
const any = Type.Unknown();

const providerState = Type.Object({
  id: Type.String(),
  state: Type.Unsafe<string>({ type: 'string', enum: ['ready', 'waiting', 'unreachable'] }),
  models: count,
  waiting_for: nullable(Type.Array(Type.String(), { description: 'Environment variables that it needs.' })),
});

export const setup = Type.Object({
  data: Type.Object({
    providers: Type.Array(providerState),
    active_keys: count,
    last_request_at: nullable(Type.String({ format: 'date-time', description: 'End of the newest request.' })),
  }),
});

export const localServers = Type.Object({
  data: Type.Array(
    Type.Object({
      type: Type.String({ description: 'Provider type.' }),
      name: Type.String(),
      base_url: Type.String(),
      state: Type.Unsafe<string>({
        type: 'string',
        enum: ['found', 'absent', 'itself', 'unclear'],
        description:
          '`itself`: this gateway listens there. `unclear`: something answers, but not with a list of models.',
      }),
      problem: nullable(Type.String({ description: 'Why it is unclear.' })),
      models: count,
      first_models: Type.Array(Type.String(), { maxItems: 5 }),
      configured_as: Type.Array(Type.String(), { description: 'Providers with this address.' }),
      lines: Type.String({ description: 'Lines of the configuration that add it.' }),
    }),
  ),
});

export const providerTest = Type.Object({
  data: Type.Object({
    id: text,
    ok: Type.Boolean(),
    models: optional(Type.Integer({ minimum: 0, description: 'In its list.' })),
    ms: count,
    problem: optional(Type.String({ description: 'Why it failed.' })),
  }),
});

const source = Type.Object({
  from: oneOf(['file', 'environment', 'command line', 'default'], 'Where the value is set.'),
  line: optional(Type.Integer({ minimum: 0, description: 'Line of the file.' })),
  variables: optional(Type.Array(text, { description: 'Environment variables of the value.' })),
});
const setting = Type.Object({ path: Type.String({ description: 'Such as keys[0].name.' }), value: any, source });
const changes = Type.Array(Type.Object({ path: text, before: any, now: any }), { description: 'Secrets are masked.' });

export const effectiveConfig = Type.Object({
  data: Type.Object({
    origin: nullable(Type.String({ description: 'Name of the file.' })),
    started_at: moment,
    settings: Type.Array(setting, { description: 'Secrets are masked.' }),
    complete: Type.Boolean({ description: 'False if some settings are left out.' }),
    changes,
    needs_restart: Type.Array(text, { description: 'Changed settings that a reload does not apply.' }),
    providers: Type.Array(providerState),
    faults: Type.Array(Type.Object({ subject: text, message: text })),
  }),
});

export const checkedConfig = Type.Object({
  data: Type.Object({
    valid: Type.Boolean(),
    problems: Type.Array(Type.Object({ path: text, line: count, message: text })),
    unchecked: Type.Array(text, { description: 'Paths of values that come from environment variables.' }),
    changes,
  }),
});

const jobs = { kind: text, due: count, oldest_due_at: nullable(moment), leased: count };

export const storeHealth = Type.Object({
  data: Type.Object({
    engine: text,
    writable: Type.Boolean(),
    problem: nullable(text),
    records: Type.Object(
      { writable: Type.Boolean(), waiting: count, lost: count, refused: count },
      { description: 'Usage records of this gateway.' },
    ),
    jobs: nullable(Type.Array(Type.Object(jobs))),
    bytes: nullable(count),
    backup_at: nullable(moment),
    disk: nullable(Type.Object({ free_bytes: count, total_bytes: count }, { description: 'Of the data folder.' })),
    retention: Type.Object({ usage: text, usage_size: text, media: text, tasks: text, responses: text }),
  }),
});

export const replicas = Type.Object({
  data: Type.Array(
    Type.Object({
      id: text,
      role: oneOf(['gateway', 'worker'], 'A worker is a process of a gateway.'),
      version: nullable(text),
      started_at: nullable(moment),
      seen_at: moment,
      silent: Type.Boolean({ description: 'Whether it missed two signs of life.' }),
      alive_until: moment,
      answers: Type.Boolean({ description: 'Whether it is the one that answers.' }),
    }),
  ),
  engine: text,
  jobs: Type.Array(Type.Object({ ...jobs, next_lease_ends_at: nullable(moment) })),
});

const seconds = Type.Number({ minimum: 0 });
const timings = Type.Object({
  first_byte_seconds: Type.Object({ p50: seconds, p90: seconds, p95: seconds, p99: seconds }),
  tokens_per_second: optional(Type.Object({ p50: seconds, p90: seconds })),
});
const toldLimit = Type.Object({
  kind: text,
  limit: nullable(Type.Number()),
  remaining: nullable(Type.Number()),
  reset: nullable(Type.String({ description: 'As the upstream writes it: a duration or a time.' })),
  told_at: moment,
});
const failure = Type.Object({ code: text, at: moment });
const counts = Type.Object({ attempts: count, failed: count });
const circuit = oneOf(['closed', 'open', 'half-open'], 'State of the circuit breaker; open in a cooldown.');

const endpointRow = Type.Object({
  endpoint: Type.String({ description: '<provider>/<upstream model>.' }),
  credential: nullable(Type.Integer({ description: 'Number of the credential of the provider.' })),
  credentials: nullable(Type.Integer({ description: 'Number of credentials of the provider.' })),
  state: circuit,
  cause: optional(text),
  credential_cooldown_ms: optional(Type.Number()),
  cooldown_ms: optional(Type.Number()),
  streamed: optional(timings),
  whole: optional(timings),
  history: optional(
    Type.Object({
      last_5_minutes: counts,
      last_hour: counts,
      last_day: counts,
      half_hours: Type.Array(counts, { description: 'Of the last day, the oldest first.' }),
      last_failures: Type.Array(failure),
    }),
  ),
  limits: Type.Array(toldLimit, { description: 'Limits of the account as the upstream reported them last.' }),
  told_by: Type.String({ description: 'Gateway that knows the state.' }),
  gateways: Type.Array(
    Type.Object({
      id: text,
      state: nullable(circuit),
      cause: optional(text),
      cooldown_ms: optional(Type.Number()),
      last_5_minutes: counts,
      last_day: counts,
    }),
  ),
});

export const healthOfEndpoints = Type.Object({
  data: Type.Array(endpointRow),
  complete: Type.Boolean({ description: 'False if the store did not tell what other gateways know.' }),
  gateways: Type.Array(
    Type.Object({ id: text, answers: Type.Boolean(), gone: Type.Boolean(), known_at: moment, endpoints: count }),
  ),
});

const medians = nullable(Type.Object({ first_byte_seconds: seconds, tokens_per_second: nullable(seconds) }));

export const modelList = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String({ description: '<provider>/<model>.' }),
      provider: text,
      upstream_id: text,
      name: text,
      pricing: Type.Record(text, text, { description: 'USD, by priced unit; empty if unknown.' }),
      rules: Type.Object({}, { description: 'Rules of requests to the model.' }),
      context_length: count,
      max_output: count,
      input_modalities: Type.Array(text),
      output_modalities: Type.Array(text),
      supported_parameters: Type.Array(text),
      endpoints: Type.Array(
        Type.Object({
          endpoint: text,
          priority: Type.Number(),
          zero_retention: nullable(Type.Boolean()),
          statistics: medians,
        }),
      ),
      aliases: Type.Array(text),
      users: optional(
        Type.Array(Type.Object({ key: text, key_name: nullable(text), requests: count, cost: nullable(text) }), {
          description: 'Keys that used it, those with the most requests first; with the parameter id only.',
        }),
      ),
      users_total: optional(count),
      users_from: optional(moment),
      users_to: optional(moment),
      configured: optional(Type.Array(setting, { description: 'Settings that name it.' })),
    }),
  ),
  total: count,
  next: nullable(text),
});

export const explanation = Type.Object({
  data: Type.Object({
    requested: text,
    model: text,
    policy: Type.Object({}, { description: 'The policy that applies.' }),
    candidates: Type.Array(
      Type.Object({
        endpoint: text,
        model: text,
        credential: optional(count),
        price: optional(Type.Number({ description: 'USD for a million input and a million output tokens.' })),
        left_out: optional(Type.String({ description: 'Reason; absent if it could be tried.' })),
        first_byte_ms: optional(count),
        tokens_per_second: optional(seconds),
        path: optional(text),
        dropped: optional(Type.Array(text, { description: 'Fields that would be dropped.' })),
        unable: optional(Type.String({ description: 'Why the request cannot be sent there.' })),
      }),
    ),
    omitted: optional(count),
  }),
});

const auditEntry = Type.Object({
  id: count,
  actor: text,
  at: moment,
  action: Type.String({ description: 'Such as key.create.' }),
  subject: text,
  before: optional(nullable(anyObject)),
  after: optional(nullable(anyObject)),
  request_id: nullable(text),
});
export const auditList = countedList(auditEntry);

export type MergedEndpoint = Static<typeof endpointRow>;
export type EncodedTimings = Static<typeof timings>;
export type EncodedLimit = Static<typeof toldLimit>;
export type EncodedFailure = Static<typeof failure>;
