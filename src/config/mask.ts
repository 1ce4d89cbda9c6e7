/** Printable configuration: YAML with all defaults written out and all secrets masked. */

import { dump } from 'js-yaml';
import { isObject, type Json } from '../core/json/json.ts';
import type { SharedAllotments } from '../records/key-settings.ts';
import { Secret } from '../security/secret.ts';
import { describeCatalog } from './catalog.ts';
import type { NetworkConfig } from './network.ts';
import type {
  CallbacksConfig,
  Config,
  ConfiguredKey,
  ConfiguredModel,
  EncryptionConfig,
  ReadyProvider,
  ResponsesConfig,
  ServerConfig,
  TelemetryConfig,
  UsageConfig,
  UsageExportConfig,
  VideosConfig,
} from './resolved.ts';
import { describeRouting } from './routing.ts';
import { formatDuration, formatSize } from './units.ts';

/** Reasons for which providers are not reached, and sources of their credentials, by their ids. */
type States = ReadonlyMap<string, { problem?: string; credentials?: string }>;

/** YAML of the settings, followed by the state of each provider as a comment. */
export function describeConfig(config: Config, states: States = new Map()): string {
  const source =
    config.origin === undefined ? '# without a file, from the environment alone' : `# from ${config.origin}`;
  return [
    source,
    dump(printable(describeSettings(config)), { lineWidth: -1, noRefs: true, skipInvalid: true }).trimEnd(),
    ...describeProviderStates(config, states),
  ].join('\n');
}

/** All settings, spelled as in the file; secrets are still secrets. */
export function describeSettings(config: Config): object {
  const ready = config.providers.filter((provider) => provider.state === 'ready');
  return {
    server: describeServer(config.server),
    data: config.postgres ? withoutUser(config.postgres) : config.data,
    catalog: describeCatalog(config.catalog),
    encryption: describeEncryption(config.encryption),
    network: describeNetwork(config.network),
    callbacks: describeCallbacks(config.callbacks),
    notices: config.notices && { webhook: config.notices.webhook, at: config.notices.at },
    videos: describeVideos(config.videos),
    responses: describeResponses(config.responses),
    usage: describeUsage(config.usage),
    ...describeKeyDefaults(config),
    tags: describeTags(config.allotments.tags),
    admin: config.admin && { ...snakeCased(config.admin), token: config.admin.token },
    ui: snakeCased(config.ui),
    telemetry: describeTelemetry(config.telemetry),
    keys: config.keys.map(describeKey),
    providers: Object.fromEntries(ready.map((provider) => [provider.id, describeProvider(provider)])),
    ...describeRouting(config.routing),
  };
}

/** Replaces secrets with masks. */
export function printable(value: Json): Json {
  if (value instanceof Secret) return value.mask();
  if (Array.isArray(value)) return value.map(printable);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, printable(inner)]));
}

/** One comment line for each provider. */
function describeProviderStates({ providers }: Config, states: States): string[] {
  const width = Math.max(...providers.map(({ id }) => id.length));
  return providers.map((provider) => {
    const { problem, credentials } = states.get(provider.id) ?? {};
    const source = credentials === undefined ? '' : `, credentials: ${credentials}`;
    const ready = problem === undefined ? `ready${source}` : `unreachable: ${problem}`;
    const state = provider.state === 'ready' ? ready : `waiting for ${provider.waitingFor.join(' or ')}`;
    return `# ${provider.id.padEnd(width)}  ${state}`;
  });
}

function describeServer({
  host,
  port,
  publicUrl,
  trustedProxies,
  prefixes,
  workers,
  bodyLimit,
  bodyMemory,
  connectionsPerAddress,
  websockets,
  websocketsPerKey,
  deadlines,
  drain,
  keepAlive,
}: ServerConfig): object {
  return {
    host,
    port,
    public_url: publicUrl,
    trusted_proxies: trustedProxies,
    prefixes,
    workers,
    body_limit: formatSize(bodyLimit),
    body_memory: bodyMemory === undefined ? undefined : formatSize(bodyMemory),
    connections_per_address: connectionsPerAddress,
    websockets,
    websockets_per_key: websocketsPerKey,
    deadlines: {
      connect: formatDuration(deadlines.connect),
      first_byte: formatDuration(deadlines.firstByte),
      idle: formatDuration(deadlines.idle),
      total: formatDuration(deadlines.total),
    },
    drain: drain === 0 ? '0s' : formatDuration(drain),
    keep_alive: formatDuration(keepAlive),
  };
}

function describeNetwork({ dnsServers, proxy }: NetworkConfig): object {
  return { dns_servers: dnsServers, proxy: proxy && withoutUser(proxy.url), no_proxy: proxy?.direct };
}

/** URL without user and password. */
function withoutUser(secret: Pick<Secret, 'reveal'>): string {
  const url = URL.parse(secret.reveal());
  if (!url) return '…';
  const { protocol, username, password, host, pathname } = url;
  const user = username === '' && password === '' ? '' : '…@';
  return `${protocol}//${user}${host}${pathname === '/' ? '' : pathname}`;
}

function describeEncryption({ keys, keyFile }: EncryptionConfig): object {
  const [key, ...previous] = keys;
  return { key, previous_keys: previous.length > 0 ? previous : undefined, key_file: keyFile };
}

function describeCallbacks({ secret, ca, timeout, ...rest }: CallbacksConfig): object {
  return snakeCased({
    secret,
    ...rest,
    caFile: ca === undefined ? undefined : '(read)',
    timeout: formatDuration(timeout),
  });
}

function describeVideos(videos: VideosConfig): object {
  const { type, ...s3 } = videos.mirror;
  return {
    mirror: type,
    s3: 'secretAccessKey' in s3 ? snakeCased(s3) : undefined,
    max_size: formatSize(videos.maxSize),
    url_lifetime: formatDuration(videos.urlLifetimeMs),
    keep_media: formatDuration(videos.keepMediaMs),
    keep_records: formatDuration(videos.keepRecordsMs),
    expires: formatDuration(videos.expiresAfterMs),
    expose_upstream_urls: videos.exposeUpstreamUrls,
    dedupe_window: videos.dedupeWindowMs && formatDuration(videos.dedupeWindowMs),
  };
}

function describeResponses(responses: ResponsesConfig): object {
  const { store, keepMs, maxBytes, maxResponses, maxChainBytes, maxChainItems, hostedTools, compaction } = responses;
  const { maxBackground, backgroundTimeoutMs } = responses;
  return {
    store,
    keep: formatDuration(keepMs),
    max_size: formatSize(maxBytes),
    max_responses: maxResponses,
    max_chain_size: formatSize(maxChainBytes),
    max_chain_items: maxChainItems,
    max_background: maxBackground,
    background_timeout: formatDuration(backgroundTimeoutMs),
    hosted_tools: hostedTools,
    compaction,
  };
}

function describeUsage({ keep, maxSize, export: target, ...rest }: UsageConfig): object {
  const described = snakeCased({ ...rest, keep: formatDuration(keep), maxSize: formatSize(maxSize) });
  return { ...described, export: target && describeExport(target) };
}

function describeExport(target: UsageExportConfig): object {
  if (target.type === 'folder') return { folder: target.folder };
  const { type, ...s3 } = target;
  return { s3: snakeCased(s3) };
}

function describeTelemetry({ otlp, propagate, budgetKeys }: TelemetryConfig): object {
  return { otlp: otlp && { ...otlp, headers: otlp.headers }, propagate, budget_keys: budgetKeys };
}

/** `limits` stands for `key_defaults.limits`: they have the name that the file gives them. */
function describeKeyDefaults({ allotments, sourceOf }: Config): object {
  const { limits, budgets, tags } = allotments.keyDefaults;
  const described = limits && snakeCased(limits);
  const isShort = sourceOf(['limits']).from === 'file';
  return {
    limits: isShort ? described : undefined,
    key_defaults: { limits: isShort ? undefined : described, budgets, tags },
  };
}

function describeTags(tags: SharedAllotments['tags']): object | undefined {
  if (tags.size === 0) return undefined;
  return Object.fromEntries([...tags].map(([tag, allotment]) => [tag, snakeCased(allotment)]));
}

/** Names of `model_limits`, `tags` and `metadata` stay unchanged. */
function describeKey({ name, key, expires, settings }: ConfiguredKey): object {
  const { modelLimits = {}, tags, metadata, ...rest } = settings;
  const limits = Object.entries(modelLimits).map(([glob, limit]) => [glob, snakeCased(limit)]);
  return {
    name,
    key,
    expires: expires === undefined ? undefined : new Date(expires).toISOString(),
    ...snakeCased(rest),
    tags,
    metadata,
    model_limits: limits.length > 0 ? Object.fromEntries(limits) : undefined,
  };
}

function describeProvider(provider: ReadyProvider): object {
  const { type, apiKeys, identity, baseUrl, protocols, apiVersion, models, keepsResponses, headers } = provider;
  const [key, ...more] = apiKeys;
  return {
    type,
    ...(more.length > 0 ? { api_keys: [key, ...more] } : { api_key: key }),
    credentials: identity?.settings,
    base_url: baseUrl,
    protocols,
    api_version: apiVersion,
    models: Array.isArray(models) ? models.map(describeModel) : models,
    keeps_responses: keepsResponses,
    headers: Object.keys(headers).length === 0 ? undefined : headers,
  };
}

function describeModel(model: ConfiguredModel): object {
  const { maxOutput, serviceTiers = {}, ...rest } = model;
  const tiers = Object.entries(serviceTiers).map(([name, tier]) => [name, 'pricing' in tier ? tier.pricing : tier]);
  return {
    ...snakeCased({ ...rest, maxCompletionTokens: maxOutput }),
    service_tiers: tiers.length > 0 ? Object.fromEntries(tiers) : undefined,
  };
}

/** Converts member names to snake case, recursively. */
function snakeCased(value: object): object {
  const renamed = Object.entries(value).map(([name, inner]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    isObject(inner) && !(inner instanceof Secret) ? snakeCased(inner) : inner,
  ]);
  return Object.fromEntries(renamed);
}
