/** Configuration schema: validates the file and generates `config.schema.json` for editors. */

import type { Static } from 'typebox';
import * as Type from 'typebox';
import { MAX_KEY_NAME } from '../records/tags.ts';
import { admin, keyDefaults, keySettings, limits, tags, telemetry, ui, usage } from './accounting-schema.ts';
import { catalog } from './catalog.ts';
import { addressRange, duration, httpUrl, pathPrefix } from './fields.ts';
import { modelSchema } from './model-schema.ts';
import { responses } from './responses-schema.ts';
import { aliases, defaultModel, models, routing } from './routing-schema.ts';
import { callbacks, encryption, network, notices, videos } from './videos-schema.ts';
import { MAX_WORKERS } from './workers.ts';

/** Defaults, spelled as in the file. */
export const DEFAULTS = {
  host: '127.0.0.1',
  port: 8080,
  messages: 'anthropic',
  generate: 'gemini',
  workers: 1,
  bodyLimit: '20MiB',
  connectionsPerAddress: 1000,
  websockets: true,
  websocketsPerKey: 100,
  connect: '5s',
  firstByte: '5m',
  idle: '2m',
  total: '30m',
  keepAlive: '15s',
  data: './data',
};

const modelGlobs = Type.Array(Type.String({ minLength: 1 }), {
  description: 'Models the key may use, as globs of <provider>/<model>, e.g. openai/*. Absent means all.',
});

const deadlines = Type.Object(
  {
    connect: Type.Optional(duration('Connect timeout of an upstream.', DEFAULTS.connect)),
    first_byte: Type.Optional(duration('Timeout until the first byte of a response.', DEFAULTS.firstByte)),
    idle: Type.Optional(duration('Idle timeout between two chunks of a response.', DEFAULTS.idle)),
    total: Type.Optional(duration('Total timeout of a response.', DEFAULTS.total)),
  },
  { additionalProperties: false, description: 'Timeouts of upstream requests.' },
);

const server = Type.Object(
  {
    host: Type.Optional(
      Type.String({
        minLength: 1,
        default: DEFAULTS.host,
        description: 'Address to listen on. On any but loopback, the first start makes no key by itself.',
      }),
    ),
    port: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 65535,
        default: DEFAULTS.port,
        description: 'Port to listen on; 0 selects a free port.',
      }),
    ),
    public_url: Type.Optional(httpUrl('Public base URL of the gateway, e.g. https://gw.example.com.')),
    trusted_proxies: Type.Optional(
      Type.Array(addressRange(), {
        description: 'Addresses of proxies whose X-Forwarded-For is trusted. Absent means none.',
      }),
    ),
    prefixes: Type.Optional(
      Type.Object(
        {
          messages: Type.Optional(pathPrefix('Path prefix of the messages protocol.', DEFAULTS.messages)),
          generate: Type.Optional(pathPrefix('Path prefix of the generateContent protocol.', DEFAULTS.generate)),
        },
        { additionalProperties: false, description: 'First path segments of the protocols that have one.' },
      ),
    ),
    workers: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: MAX_WORKERS }), Type.Literal('auto')], {
        default: DEFAULTS.workers,
        description: 'Processes that answer clients; auto starts one per processor.',
      }),
    ),
    body_limit: Type.Optional(
      Type.String({
        default: DEFAULTS.bodyLimit,
        pattern: '^[1-9][0-9]{0,6}(KiB|MiB)$',
        errorMessage: 'must be a size such as 512KiB or 20MiB',
        description: 'Maximum size of an inference request body.',
      }),
    ),
    body_memory: Type.Optional(
      Type.String({
        pattern: '^[1-9][0-9]{0,6}(KiB|MiB|GiB)$',
        errorMessage: 'must be a size such as 256MiB or 2GiB',
        description:
          'Maximum size of all request bodies in flight; beyond it requests get 503. Absent means an eighth of the memory or of the heap, whichever is less.',
      }),
    ),
    connections_per_address: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: DEFAULTS.connectionsPerAddress,
        description: 'Concurrent connections of one client address. Those of trusted_proxies are not counted.',
      }),
    ),
    websockets: Type.Optional(
      Type.Boolean({ default: DEFAULTS.websockets, description: 'Whether clients may open WebSockets.' }),
    ),
    websockets_per_key: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: DEFAULTS.websocketsPerKey,
        description: 'Concurrent WebSockets of one key.',
      }),
    ),
    deadlines: Type.Optional(deadlines),
    drain: Type.Optional(
      Type.String({
        pattern: '^(0s|[1-9][0-9]{0,6}ms|[1-9][0-9]{0,3}[sm])$',
        errorMessage: 'must be a duration such as 0s, 500ms, 5s or 1m',
        description:
          'Time after SIGTERM for which requests are still accepted while /readyz fails, so that load balancers notice. Absent means 5s, or 0s on loopback.',
      }),
    ),
    keep_alive: Type.Optional(
      duration('Keep-alive interval: an idle stream gets a comment or ping after this time.', DEFAULTS.keepAlive),
    ),
  },
  { additionalProperties: false, description: 'Listener, limits and timeouts.' },
);

const key = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: MAX_KEY_NAME, description: 'Name shown in lists and logs.' }),
    key: Type.String({
      pattern: '^\\S{16,200}$',
      errorMessage: 'must be 16 to 200 characters without spaces',
      writeOnly: true,
      description: `The key clients send, usually "\${NAME}".`,
    }),
    models: Type.Optional(modelGlobs),
    expires: Type.Optional(
      Type.String({
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2}))?$',
        errorMessage: 'must be an ISO date such as 2027-01-31 or 2027-01-31T12:00:00Z',
        description: 'Expiry of the key; a date alone means midnight UTC.',
      }),
    ),
    ...keySettings,
  },
  { additionalProperties: false, description: 'An API key of the gateway.' },
);

const identityName = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));

const credentials = Type.Union(
  [
    Type.Literal('auto'),
    Type.Literal('managed'),
    Type.Literal('workload'),
    Type.Object(
      {
        profile: identityName('AWS: name of a profile of the shared files.'),
        role_arn: identityName('AWS: role to assume.'),
        external_id: identityName('AWS: external id of the role.'),
        session_name: identityName('AWS: name of the session of the role.'),
        file: identityName('Google: path of a credentials file.'),
        source: Type.Optional(
          Type.Union([Type.Literal('managed'), Type.Literal('workload')], {
            description: 'Microsoft Entra: managed or workload identity, where other members are set beside it.',
          }),
        ),
        tenant_id: identityName('Microsoft Entra: tenant.'),
        client_id: identityName('Microsoft Entra: id of the application.'),
        client_secret: Type.Optional(
          Type.String({ minLength: 1, writeOnly: true, description: 'Microsoft Entra: secret of the application.' }),
        ),
        scope: identityName('Microsoft Entra: scope of the tokens.'),
      },
      { additionalProperties: false },
    ),
  ],
  {
    writeOnly: true,
    description:
      'Identity at a cloud platform in place of api_key: auto takes that of the environment, as the libraries of the vendor do.',
  },
);

const provider = Type.Object(
  {
    type: Type.Optional(
      Type.String({ description: 'What it is, e.g. openai-compatible; the id of the provider where that is a type.' }),
    ),
    enabled: Type.Optional(Type.Boolean({ default: true, description: 'False disables the provider.' })),
    api_key: Type.Optional(
      Type.String({
        writeOnly: true,
        description: 'Credential for the upstream; by default the usual environment variable of the provider.',
      }),
    ),
    api_keys: Type.Optional(
      Type.Array(Type.String({ writeOnly: true }), {
        minItems: 1,
        description:
          'Several credentials instead of one: calls are spread over them, and a conversation stays with one.',
      }),
    ),
    credentials: Type.Optional(credentials),
    base_url: Type.Optional(httpUrl("Address of the upstream, as the vendor's own SDK understands it.")),
    protocols: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        uniqueItems: true,
        description:
          'Protocols that an openai-compatible server speaks, in order of preference: chat, responses. Absent means chat.',
      }),
    ),
    api_version: Type.Optional(
      Type.String({
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?$',
        errorMessage: 'must be a dated version such as 2025-04-01-preview; the v1 API has none',
        description: 'Dated version of the API of Azure OpenAI, which is older than its v1 API. Absent means v1.',
      }),
    ),
    models: Type.Optional(
      Type.Union([Type.Literal('discover'), Type.Literal('any'), Type.Array(modelSchema)], {
        description:
          '"discover" asks the upstream for its models; "any" passes on ids that are not listed; a list adds to the catalog and overrides it.',
      }),
    ),
    keeps_responses: Type.Optional(
      Type.Boolean({
        description:
          'Whether the upstream stores responses itself and finds them by their ids, as OpenAI and xAI do. By default as known of the type.',
      }),
    ),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }), Type.String({ writeOnly: true }), {
        additionalProperties: false,
        description: 'Headers added to every request to the upstream.',
      }),
    ),
  },
  { additionalProperties: false, description: 'An upstream.' },
);

export const configSchema = Type.Object(
  {
    server: Type.Optional(server),
    data: Type.Optional(
      Type.String({
        minLength: 1,
        default: DEFAULTS.data,
        description:
          'Folder of the embedded store and of files, relative to the working directory; or a postgres:// URL, which several gateways may share.',
      }),
    ),
    catalog: Type.Optional(catalog),
    encryption: Type.Optional(encryption),
    network: Type.Optional(network),
    callbacks: Type.Optional(callbacks),
    notices: Type.Optional(notices),
    videos: Type.Optional(videos),
    responses: Type.Optional(responses),
    usage: Type.Optional(usage),
    limits: Type.Optional(limits),
    key_defaults: Type.Optional(keyDefaults),
    tags: Type.Optional(tags),
    admin: Type.Optional(admin),
    ui: Type.Optional(ui),
    telemetry: Type.Optional(telemetry),
    keys: Type.Optional(
      Type.Array(key, { description: 'API keys kept in the configuration, beside those in the store.' }),
    ),
    providers: Type.Optional(
      Type.Record(Type.String({ pattern: '^[a-z0-9][a-z0-9._-]*$' }), provider, {
        additionalProperties: false,
        description: 'Upstreams by id, the first part of their models’ names.',
      }),
    ),
    models: Type.Optional(models),
    aliases: Type.Optional(aliases),
    default_model: Type.Optional(defaultModel),
    routing: Type.Optional(routing),
  },
  { additionalProperties: false, title: 'Polygate configuration' },
);

/** Content of a valid file; a field that is `null` counts as absent. */
export type ConfigFile = Static<typeof configSchema>;
export type ProviderEntry = Static<typeof provider>;
export type KeyEntry = Static<typeof key>;
export type ModelSettings = Static<typeof modelSchema>;
