/** Configuration loader: builds the complete configuration from file and environment, or lists all problems. */

import { resolve } from 'node:path';
import { GatewayError, redact } from '../core/errors.ts';
import { problems as schemaProblems } from '../core/json/check.ts';
import { isLoopback } from '../core/loopback.ts';
import { withoutEnd } from '../core/text.ts';
import { isRange } from '../net/ip-address.ts';
import type { KeyDefaults } from '../records/key-settings.ts';
import { MAX_TAGS, metadataProblems, tagProblems } from '../records/tags.ts';
import { Secret } from '../security/secret.ts';
import {
  resolveAdmin,
  resolveAllotments,
  resolveKeySettings,
  resolveTelemetry,
  resolveUi,
  resolveUsage,
} from './accounting.ts';
import { resolveCatalog } from './catalog.ts';
import { createVariableLookup, type Environment, type LookUpVariable } from './environment.ts';
import { exampleOf, foreignReferences, malformedUrls, unknownField } from './fields.ts';
import { type ConfigLocation, DEFAULT_FILE, originOf, readConfigText } from './location.ts';
import { priceProblems } from './model-schema.ts';
import { type KnownProviders, resolveProviders } from './providers.ts';
import type { Config, ConfiguredKey, ServerConfig } from './resolved.ts';
import { resolveResponses } from './responses.ts';
import { resolveRouting } from './routing.ts';
import { type ConfigFile, configSchema, DEFAULTS, type KeyEntry } from './schema.ts';
import { readSource, type Source, type SourceProblem } from './source.ts';
import { parseDuration, parseMoment, parseSize } from './units.ts';
import { createSourceFinder } from './value-source.ts';
import {
  type ReportProblem,
  resolveCallbacks,
  resolveEncryption,
  resolveNetwork,
  resolveNotices,
  resolveVideos,
} from './videos.ts';
import { workerCount } from './workers.ts';

/** Default of `server.drain` where other machines reach the gateway: load balancers ask every few seconds. */
const DRAIN_MS = 5000;

/** Origin of a configuration. */
export interface ConfigSource extends ConfigLocation {
  environment: Environment;
  known: KnownProviders;
  /** Options of the command line; they override the file. */
  host?: string;
  port?: number;
  workers?: number;
}

/** Throws `invalid_request` with a line `file:line: path: problem` for every problem. */
export function loadConfig(source: ConfigSource): Config {
  return parseConfig(readConfigText(source), source);
}

/** Parses `text` as the content of the source's file. */
export function parseConfig(text: string, source: ConfigSource): Config {
  const { config, problems } = examineConfig(text, source);
  if (config && problems.length === 0) return config;
  throw invalidConfig(originOf(source) ?? (text === '' ? undefined : DEFAULT_FILE), problems);
}

interface Examination {
  lookUp?: LookUpVariable;
  /** Whether files that the text names are read; true if absent. */
  readsFiles?: boolean;
}

interface Examined {
  /** Absent where the text has problems that keep it from being resolved. */
  config: Config | undefined;
  problems: SourceProblem[];
  missing: Source['missing'];
  references: Source['references'];
}

/** Everything that is wrong with a text, and the configuration as far as it can be resolved. */
export function examineConfig(
  text: string,
  source: ConfigSource,
  { lookUp = createVariableLookup(source.environment), readsFiles = true }: Examination = {},
): Examined {
  const read = readSource(text, configSchema, lookUp);
  const problems = [...read.problems];
  const report: ReportProblem = (path, message) => problems.push({ path, line: read.lineOf(path), message });
  const file: ConfigFile = read.value ?? {};
  if (problems.length === 0) checkFile(file, read, report);
  if (!readsFiles && file.callbacks) delete file.callbacks.ca_file;
  const config = problems.length === 0 ? resolveConfig(file, { source, lookUp, read, report }) : undefined;
  return { config, problems, missing: read.missing, references: read.references };
}

/** Without a file, the problems are of variables, which they name. */
function invalidConfig(file: string | undefined, problems: Source['problems']): GatewayError {
  const lines = problems
    .sort((one, other) => one.line - other.line)
    .map(({ path, line, message }) => {
      const place = file === undefined ? '' : `${file}:${line}: `;
      return `${place}${path === '' ? '' : `${path}: `}${message}`;
    });
  return new GatewayError('invalid_request', lines.join('\n'));
}

function checkFile(file: ConfigFile, read: Source, report: ReportProblem): void {
  for (const [path, names] of read.missing) {
    const message = missingMessage(path, names, { file, read });
    if (message !== undefined) report(path, message);
  }
  const found = schemaProblems(configSchema, file);
  const foreign = new Map(foreignReferences(file).map(({ path, message }) => [path, message]));
  for (const { path, message, allowed } of found) {
    if (read.missing.has(path) || foreign.has(path)) continue;
    report(path, allowed ? unknownField(path, allowed) : redact(message) + exampleOf(path, message));
  }
  for (const [path, message] of foreign) report(path, message);
  if (found.length > 0) return;
  for (const { path, message } of priceProblems(file)) report(path, message);
  for (const path of malformedUrls(file)) report(path, 'is no valid URL');
  for (const name of ['allow_cidrs', 'deny_cidrs'] as const)
    checkRanges(file.callbacks?.[name], `callbacks.${name}`, report);
}

/** Undefined for a value that may be missing: those of a disabled provider, and the key of a provider, which waits for it. */
function missingMessage(
  path: string,
  names: readonly string[],
  { file, read }: { file: ConfigFile; read: Source },
): string | undefined {
  const providers = Object.entries(file.providers ?? {});
  if (providers.some(([id, entry]) => entry?.enabled === false && path.startsWith(`providers.${id}.`)))
    return undefined;
  const unreadable = read.unreadable.get(path);
  if (unreadable) return unreadable.join('; ');
  if (providers.some(([id]) => path === `providers.${id}.api_key`)) return undefined;
  return `needs the environment variable ${names.join(' and ')}, which is not set; \${NAME:-default} allows that`;
}

interface ResolveContext {
  source: ConfigSource;
  lookUp: LookUpVariable;
  read: Source;
  report: ReportProblem;
}

function resolveConfig(file: ConfigFile, { source, lookUp, read, report }: ResolveContext): Config {
  const providers = resolveProviders({
    entries: file.providers ?? {},
    known: source.known,
    lookUp,
    missing: read.missing,
    report,
  });
  const allotments = resolveAllotments(file, report);
  return {
    origin: originOf(source),
    sourceOf: createSourceFinder({ file, read, overridden: overriddenBy(source), known: source.known, lookUp }),
    server: resolveServer(file.server ?? {}, source, report),
    ...resolveData(file.data ?? DEFAULTS.data, report),
    catalog: resolveCatalog(file.catalog ?? {}, report),
    encryption: resolveEncryption(file.encryption ?? {}, report),
    network: resolveNetwork(file.network ?? {}, report),
    callbacks: resolveCallbacks(file.callbacks ?? {}, report),
    notices: file.notices ? resolveNotices(file.notices, file.callbacks ?? {}, report) : undefined,
    videos: resolveVideos(file.videos ?? {}, report),
    responses: resolveResponses(file.responses ?? {}),
    usage: resolveUsage(file.usage ?? {}, report),
    allotments,
    admin: resolveAdmin(file.admin ?? {}),
    ui: resolveUi(file.ui ?? {}),
    telemetry: resolveTelemetry(file.telemetry ?? {}),
    keys: resolveKeys(file.keys ?? [], allotments.keyDefaults, report),
    providers,
    routing: resolveRouting(file, providers, report),
  };
}

function overriddenBy(source: ConfigSource): string[] {
  return (['host', 'port', 'workers'] as const)
    .filter((name) => source[name] !== undefined)
    .map((name) => `server.${name}`);
}

function resolveServer(
  server: NonNullable<ConfigFile['server']>,
  source: ConfigSource,
  report: ReportProblem,
): ServerConfig {
  const deadlines = server.deadlines ?? {};
  const prefixes = {
    messages: server.prefixes?.messages ?? DEFAULTS.messages,
    generate: server.prefixes?.generate ?? DEFAULTS.generate,
  };
  if (prefixes.messages === prefixes.generate) report('server.prefixes', 'must differ from each other');
  for (const [name, prefix] of Object.entries(prefixes)) {
    if (/^v1(\/|$)/.test(prefix)) report(`server.prefixes.${name}`, 'must not begin with v1, which is taken');
  }
  checkRanges(server.trusted_proxies, 'server.trusted_proxies', report);
  const bodyLimit = parseSize(server.body_limit ?? DEFAULTS.bodyLimit) as number;
  const bodyMemory = server.body_memory == null ? undefined : parseSize(server.body_memory);
  if (bodyMemory !== undefined && bodyMemory < bodyLimit) {
    report('server.body_memory', 'must not be less than server.body_limit');
  }
  const host = source.host ?? server.host ?? DEFAULTS.host;
  return {
    host,
    port: source.port ?? server.port ?? DEFAULTS.port,
    publicUrl: server.public_url && withoutEnd(server.public_url, '/'),
    trustedProxies: server.trusted_proxies ?? [],
    prefixes,
    workers: source.workers ?? workerCount(server.workers ?? DEFAULTS.workers),
    bodyLimit,
    bodyMemory,
    connectionsPerAddress: server.connections_per_address ?? DEFAULTS.connectionsPerAddress,
    websockets: server.websockets ?? DEFAULTS.websockets,
    websocketsPerKey: server.websockets_per_key ?? DEFAULTS.websocketsPerKey,
    deadlines: {
      connect: durationOf(deadlines.connect ?? DEFAULTS.connect),
      firstByte: durationOf(deadlines.first_byte ?? DEFAULTS.firstByte),
      idle: durationOf(deadlines.idle ?? DEFAULTS.idle),
      total: durationOf(deadlines.total ?? DEFAULTS.total),
    },
    drain: server.drain == null ? (isLoopback(host) ? 0 : DRAIN_MS) : durationOf(server.drain),
    keepAlive: durationOf(server.keep_alive ?? DEFAULTS.keepAlive),
  };
}

function checkRanges(ranges: readonly string[] | null | undefined, path: string, report: ReportProblem): void {
  for (const [index, range] of (ranges ?? []).entries()) {
    if (!isRange(range)) report(`${path}[${index}]`, 'must be an address range such as 10.0.0.0/8 or fd00::/8');
  }
}

/** Milliseconds of a duration that passed the schema. */
function durationOf(text: string): number {
  return parseDuration(text) as number;
}

/** With a database, files stay in the default folder. */
function resolveData(data: string, report: ReportProblem): Pick<Config, 'data' | 'postgres'> {
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(data) ?? [];
  if (scheme === undefined && !/^postgres(ql)?:/i.test(data)) return { data: resolve(data) };
  if (scheme === undefined || !/^postgres(ql)?$/i.test(scheme)) report('data', 'must be a folder or a postgres:// URL');
  else if (!isDatabaseUrl(data))
    report(
      'data',
      'must be a URL of one host, with a port up to 65535, and with @ : / ? # in the password as %40 %3A %2F %3F %23',
    );
  return { data: resolve(DEFAULTS.data), postgres: new Secret(data) };
}

function isDatabaseUrl(text: string): boolean {
  // The host may be a parameter, as with a socket.
  const url = URL.parse(text.replace('@/', '@host/'));
  if (!url || url.hostname.includes(',')) return false;
  // An @ behind the host is that behind a password whose / ? # seemed to end the host.
  return !`${url.pathname}${url.search}${url.hash}`.includes('@');
}

function resolveKeys(entries: KeyEntry[], keyDefaults: KeyDefaults, report: ReportProblem): ConfiguredKey[] {
  const names = new Set<string>();
  const owners = new Map<string, string>();
  return entries.map((entry, index) => {
    const { name, key, expires } = entry;
    const moment = expires ? parseMoment(expires) : undefined;
    if (expires && moment === undefined) report(`keys[${index}].expires`, 'must be a date that exists');
    checkRanges(entry.cidrs, `keys[${index}].cidrs`, report);
    for (const { path, message } of [...tagProblems(entry.tags), ...metadataProblems(entry.metadata)])
      report(`keys[${index}].${path}`, message);
    const settings = resolveKeySettings(entry, keyDefaults);
    if (Object.keys(settings.tags ?? {}).length > MAX_TAGS)
      report(`keys[${index}].tags`, `must have at most ${MAX_TAGS} entries with those of key_defaults`);
    if (names.has(name)) report(`keys[${index}].name`, `is taken by another key, "${name}"`);
    names.add(name);
    if (owners.has(key)) report(`keys[${index}].key`, `is that of another key, "${owners.get(key)}"`);
    owners.set(key, name);
    return {
      name,
      key: new Secret(key),
      expires: moment,
      settings,
    };
  });
}
