/** The configuration as the rest of the gateway uses it: complete, checked, without references to the environment. */

import type { Modality, ModelRules, Pricing } from '../core/model.ts';
import type { Prefixes } from '../core/operation.ts';
import type { VideoAbilities } from '../core/video.ts';
import type { KeySettings, Limits } from '../records/key-settings.ts';
import type { Secret } from '../security/secret.ts';

export interface Config {
  /** The file it was read from, absolute; absent when there is none. */
  file?: string;
  server: ServerConfig;
  /** Folder of the embedded store and of files, absolute. */
  data: string;
  /** The URL of the database that is the store instead; it may hold a password. */
  postgres?: Secret;
  encryption: EncryptionConfig;
  network: NetworkConfig;
  callbacks: CallbacksConfig;
  videos: VideosConfig;
  usage: UsageConfig;
  /** Of every key that has none of its own. */
  limits: Limits;
  /** Absent means that there is no admin API. */
  admin?: AdminConfig;
  telemetry: TelemetryConfig;
  keys: ConfiguredKey[];
  /** What is named in the file first, in its order; then what the environment switches on or could switch on. */
  providers: ProviderConfig[];
  routing: RoutingConfig;
}

/** Where requests for a model go. */
export interface RoutingConfig {
  /** By the name that clients use. */
  models: ReadonlyMap<string, readonly EndpointEntry[]>;
  /** Other names, each with the one it stands for. */
  aliases: ReadonlyMap<string, string>;
  defaultModel?: string;
  sort?: 'price' | 'latency' | 'throughput';
  fallbackModels: readonly string[];
  /** Milliseconds that an endpoint rests after failures. */
  cooldown: number;
}

/** A model at a provider, and what the operator knows of it there. */
export interface EndpointEntry {
  /** The id of a provider. */
  provider: string;
  /** As the upstream knows it. */
  model: string;
  /** Lower is used first. */
  priority: number;
  weight?: number;
  pricing?: Pricing;
  facts: { zdr?: boolean; training?: boolean; distillable?: boolean; quantization?: string };
}

export interface ServerConfig {
  host: string;
  /** 0 lets the system choose. */
  port: number;
  /** How clients reach the gateway, without a slash at the end. */
  publicUrl?: string;
  /** Address ranges of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: string[];
  prefixes: Prefixes;
  /** Largest inference body in bytes. */
  bodyLimit: number;
  /** Bytes of all bodies under way; absent leaves it to the memory of the process. */
  bodyMemory?: number;
  /** Connections of one client address at once. */
  connectionsPerAddress: number;
  deadlines: DeadlinesConfig;
  /** Milliseconds of silence after which a stream gets a sign of life. */
  keepAlive: number;
}

/** What stored secrets are encrypted with: a key of the configuration, or else of a file. */
export interface EncryptionConfig {
  /** The first one encrypts; empty means the file's. */
  keys: Secret[];
  /** Absolute; made at first start where it is the default one. */
  keyFile?: string;
}

export interface NetworkConfig {
  /** `ip:port`; empty means the system's. */
  dnsServers: string[];
}

export interface CallbacksConfig {
  /** Signs the webhooks of keys without a secret of their own. */
  secret?: Secret;
  allowCidrs: string[];
  allowHosts: string[];
  denyCidrs: string[];
  /** PEM, as read from the file. */
  ca?: string;
  /** Milliseconds for one attempt. */
  timeout: number;
  honorRetryAfter: boolean;
  standardHeaders: boolean;
}

export interface UsageConfig {
  durability: 'strict' | 'batched';
  /** Milliseconds that records of single requests are kept. */
  keep: number;
  /** Bytes that they may take. */
  maxSize: number;
}

export interface AdminConfig {
  token: Secret;
  host: string;
  port: number;
}

export interface TelemetryConfig {
  otlp?: { endpoint: string; headers: Record<string, Secret> };
  /** Trace context is passed on to upstreams. */
  propagate: boolean;
}

export interface VideosConfig {
  mirror: MirrorConfig;
  /** Bytes. */
  maxSize: number;
  /** Milliseconds, as the others below. */
  urlLifetimeMs: number;
  keepMediaMs: number;
  keepRecordsMs: number;
  /** Until a task without an end is given up. */
  expiresAfterMs: number;
  exposeUpstreamUrls: boolean;
  /** Absent means that equal requests make tasks of their own. */
  dedupeWindowMs?: number;
}

export type MirrorConfig = { type: 'local' } | { type: 'off' } | ({ type: 's3' } & S3Config);

export interface S3Config {
  endpoint: string;
  region: string;
  bucket: string;
  /** Beginning of every object's name; may be empty. */
  prefix: string;
  accessKeyId: string;
  secretAccessKey: Secret;
  pathStyle: boolean;
}

/** How long to wait for an upstream, in milliseconds. */
export interface DeadlinesConfig {
  connect: number;
  firstByte: number;
  /** Between two pieces of an answer. */
  idle: number;
  total: number;
}

/** An API key of a client that stands in the configuration. */
export interface ConfiguredKey {
  name: string;
  key: Secret;
  /** Unix milliseconds. */
  expires?: number;
  settings: KeySettings;
}

export type ProviderConfig = ReadyProvider | WaitingProvider;

export interface ReadyProvider {
  state: 'ready';
  /** The `<provider>` of its models' ids. */
  id: string;
  /** The id of a provider type. */
  type: string;
  /** Empty for a server that needs none. */
  apiKeys: Secret[];
  /** Absent means the type's own address. */
  baseUrl?: string;
  /** `discover` asks the upstream; a list adds to the catalog and overrides it; absent leaves it to the type. */
  models?: 'discover' | ConfiguredModel[];
  /** Added to every request. */
  headers: Record<string, Secret>;
}

/** A provider that is off until one of these environment variables is set. */
export interface WaitingProvider {
  state: 'waiting';
  id: string;
  type: string;
  waitingFor: string[];
}

/** What the operator says about a model; what is left out comes from the catalog. */
export interface ConfiguredModel {
  /** As the upstream knows it. */
  id: string;
  name?: string;
  contextLength?: number;
  maxOutput?: number;
  pricing?: Pricing;
  inputModalities?: Modality[];
  outputModalities?: Modality[];
  supportedParameters?: string[];
  /** Unix seconds. */
  created?: number;
  rules?: ModelRules;
  /** What it accepts as a maker of videos. */
  video?: VideoAbilities;
}
