/** Resolved configuration: complete, validated, without references to the environment. */

import type { CatalogModel, Pricing } from '../core/model.ts';
import type { Prefixes } from '../core/operation.ts';
import type { ProviderSettings } from '../core/provider.ts';
import type { KeySettings, SharedAllotments } from '../records/key-settings.ts';
import type { Secret } from '../security/secret.ts';
import type { ProviderIdentity } from './environment.ts';
import type { NetworkConfig } from './network.ts';
import type { FindValueSource } from './value-source.ts';

export interface Config {
  /** Absolute path of the file it was read from, or the name of the variable that it stood in; absent without either. */
  origin?: string;
  /** Finds the source of a setting. */
  sourceOf: FindValueSource;
  server: ServerConfig;
  /** Absolute path of the folder of the embedded store and of files. */
  data: string;
  /** URL of the PostgreSQL database that replaces the embedded store; may contain a password. */
  postgres?: Secret;
  catalog: CatalogConfig;
  encryption: EncryptionConfig;
  network: NetworkConfig;
  callbacks: CallbacksConfig;
  /** Receiver of notices; without it none are sent. */
  notices?: NoticesConfig | undefined;
  videos: VideosConfig;
  responses: ResponsesConfig;
  usage: UsageConfig;
  /** Limits and budgets beside those that keys set themselves. */
  allotments: SharedAllotments;
  /** Absent disables the admin API. */
  admin?: AdminConfig;
  ui: UiConfig;
  telemetry: TelemetryConfig;
  keys: ConfiguredKey[];
  /** Providers in the order of the file, then those that environment variables enable or could enable. */
  providers: ProviderConfig[];
  routing: RoutingConfig;
}

/** Model names, aliases and how endpoints are chosen. */
export interface RoutingConfig {
  /** Endpoints by the model name that clients use. */
  models: ReadonlyMap<string, readonly EndpointEntry[]>;
  /** Model names by alias. */
  aliases: ReadonlyMap<string, string>;
  /** Provider ids: the order in which a model named without a provider is looked for. */
  bareNames: readonly string[];
  defaultModel?: string;
  sort?: 'price' | 'latency' | 'throughput';
  fallbackModels: readonly string[];
  /** Initial cooldown of a failing endpoint in milliseconds. */
  cooldown: number;
}

/** A configured endpoint: a model at a provider and its known properties. */
export interface EndpointEntry {
  /** The id of a provider. */
  provider: string;
  /** Model id at the upstream. */
  model: string;
  /** Lower numbers are tried first. */
  priority: number;
  weight?: number;
  pricing?: Pricing;
  facts: { zdr?: boolean; training?: boolean; distillable?: boolean; quantization?: string };
}

export interface ServerConfig {
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** Public base URL, without a trailing slash. */
  publicUrl?: string;
  /** Address ranges of proxies whose `X-Forwarded-For` is trusted. */
  trustedProxies: string[];
  prefixes: Prefixes;
  /** Number of processes that answer clients; 1 answers them in the only process. */
  workers: number;
  /** Maximum size of an inference body in bytes. */
  bodyLimit: number;
  /** Maximum bytes of all bodies in flight; absent derives it from the memory of the process. */
  bodyMemory?: number;
  /** Maximum concurrent connections of one client address. */
  connectionsPerAddress: number;
  /** Whether clients may open WebSockets. */
  websockets: boolean;
  /** Maximum concurrent WebSockets of one key. */
  websocketsPerKey: number;
  deadlines: DeadlinesConfig;
  /** Milliseconds from SIGTERM until no new requests are accepted. */
  drain: number;
  /** Keep-alive interval of streams in milliseconds. */
  keepAlive: number;
}

/** Newer facts about models. */
export interface CatalogConfig {
  /** Time between two updates; absent makes none. */
  updateMs?: number;
  source: string;
}

/** Encryption keys of stored secrets: in the configuration or in a file. */
export interface EncryptionConfig {
  /** The first key encrypts; empty means that the key file is used. */
  keys: Secret[];
  /** Absolute path; absent means the default file, which the first start creates. */
  keyFile?: string;
}

export interface CallbacksConfig {
  /** Webhook secret of keys without their own. */
  secret?: Secret;
  allowCidrs: string[];
  allowHosts: string[];
  denyCidrs: string[];
  /** PEM text of the certificate authority. */
  ca?: string;
  /** Timeout of one attempt in milliseconds. */
  timeout: number;
  honorRetryAfter: boolean;
  standardHeaders: boolean;
}

/** Webhooks to the operator. */
export interface NoticesConfig {
  /** Address of the receiver, which may have a token in it. */
  webhook: Secret;
  secret: Secret;
  /** Shares of a budget, ascending. */
  at: readonly number[];
}

export interface UsageConfig {
  durability: 'strict' | 'batched';
  /** Place in which records on PostgreSQL are durable first. */
  journal: 'shared' | 'local';
  /** Retention of usage records in milliseconds. */
  keep: number;
  /** Maximum size of usage records in bytes. */
  maxSize: number;
  /** Place to which records are exported, if any. */
  export?: UsageExportConfig | undefined;
  /** Requests whose routing trace is stored. */
  trace: 'all' | 'problems' | 'none';
}

export type UsageExportConfig = { type: 'folder'; folder: string } | ({ type: 's3' } & S3Config);

/** Stored responses, and tools that run at their provider. */
export interface ResponsesConfig {
  /** Whether they are stored. */
  store: boolean;
  /** Retention in milliseconds. */
  keepMs: number;
  /** Limits of each key. */
  maxBytes: number;
  maxResponses: number;
  /** Limits of a conversation that a request continues. */
  maxChainBytes: number;
  maxChainItems: number;
  /** Unfinished background responses of a key. */
  maxBackground: number;
  /** Milliseconds from the request to the end of a background response. */
  backgroundTimeoutMs: number;
  /** Whether web search beside other tools is dropped or refused for a model that has none. */
  hostedTools: 'drop' | 'refuse';
  /** Side that compacts where the provider does not. */
  compaction: 'model' | 'upstream';
}

export interface AdminConfig {
  token: Secret;
  host: string;
  port: number;
  /** Base URL for browsers, without a trailing slash. */
  publicUrl?: string;
}

/** The dashboard. */
export interface UiConfig {
  /** Whether sessions can be opened. */
  enabled: boolean;
  /** Whether operators use it at the address of clients. */
  adminOnPublic: boolean;
  /** Whether sessions may capture their requests. */
  capture: boolean;
}

export interface TelemetryConfig {
  otlp?: { endpoint: string; headers: Record<string, Secret> };
  /** Whether trace context is sent to upstreams. */
  propagate: boolean;
  /** Names of keys whose budgets are in the metrics. */
  budgetKeys: readonly string[];
}

export interface VideosConfig {
  mirror: MirrorConfig;
  /** Maximum size of a mirrored video in bytes. */
  maxSize: number;
  /** Milliseconds, like the other periods below. */
  urlLifetimeMs: number;
  keepMediaMs: number;
  keepRecordsMs: number;
  /** Time after which an unfinished task expires. */
  expiresAfterMs: number;
  exposeUpstreamUrls: boolean;
  /** Absent disables deduplication of equal requests. */
  dedupeWindowMs?: number;
}

export type MirrorConfig = { type: 'local' } | { type: 'off' } | ({ type: 's3' } & S3Config);

export interface S3Config {
  endpoint: string;
  region: string;
  bucket: string;
  /** Prefix of object names; may be empty. */
  prefix: string;
  accessKeyId: string;
  secretAccessKey: Secret;
  pathStyle: boolean;
}

/** Timeouts of upstream requests in milliseconds. */
export interface DeadlinesConfig {
  connect: number;
  firstByte: number;
  /** Idle timeout between two chunks of a response. */
  idle: number;
  total: number;
}

/** API key of a client, defined in the configuration. */
export interface ConfiguredKey {
  name: string;
  key: Secret;
  /** Unix milliseconds. */
  expires?: number;
  settings: KeySettings;
}

export type ProviderConfig = ReadyProvider | WaitingProvider;

export interface ReadyProvider extends Pick<ProviderSettings, 'baseUrl' | 'protocols' | 'apiVersion'> {
  state: 'ready';
  /** First part of the ids of its models. */
  id: string;
  /** The id of a provider type. */
  type: string;
  /** Empty for a server without authentication, and with an identity. */
  apiKeys: Secret[];
  identity?: ProviderIdentity;
  /** `discover` asks the upstream; `any` passes unknown ids on; a list extends the catalog; absent is the type's default. */
  models?: 'discover' | 'any' | ConfiguredModel[];
  /** Whether the upstream keeps responses; absent selects the default of the type. */
  keepsResponses?: boolean;
  /** Added to every request. */
  headers: Record<string, Secret>;
}

/** A provider that is disabled until one of the environment variables in `waitingFor` is set. */
export interface WaitingProvider {
  state: 'waiting';
  id: string;
  type: string;
  waitingFor: string[];
  /** The configuration file names it. */
  isConfigured?: true;
}

/** Configured properties of a model; absent ones come from the catalog. */
export interface ConfiguredModel extends Partial<Pick<CatalogModel, ConfiguredName>> {
  /** Model id at the upstream. */
  id: string;
}

type ConfiguredName =
  | 'name'
  | 'base'
  | 'contextLength'
  | 'maxOutput'
  | 'pricing'
  | 'serviceTiers'
  | 'inputModalities'
  | 'outputModalities'
  | 'supportedParameters'
  | 'created'
  | 'rules'
  | 'video';
