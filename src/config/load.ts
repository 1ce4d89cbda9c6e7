/** From a configuration file and the environment to a complete configuration, or to every reason why not. */

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { GatewayError, redact } from '../core/errors.ts';
import { problems as schemaProblems } from '../core/json/check.ts';
import { withoutEnd } from '../core/text.ts';
import { isRange } from '../net/ip-address.ts';
import { Secret } from '../security/secret.ts';
import { completeAdmin, completeLimits, completeSettings, completeTelemetry, completeUsage } from './accounting.ts';
import {
  completeCallbacks,
  completeEncryption,
  completeNetwork,
  completeVideos,
  type ReportProblem,
} from './delivery.ts';
import { nearest } from './nearest.ts';
import { type KnownProviders, resolveProviders } from './providers.ts';
import type { Config, ConfiguredKey, ServerConfig } from './resolved.ts';
import { completeRouting } from './routing.ts';
import { type ConfigFile, configSchema, DEFAULTS, type KeyEntry } from './schema.ts';
import { type Environment, readSource, type Source } from './source.ts';
import { parseDuration, parseMoment, parseSize } from './units.ts';

/** Read where no file is named, if it exists. */
const DEFAULT_FILE = 'polygate.yaml';

/** Where a configuration comes from. */
export interface ConfigSource {
  /** Absolute; absent when there is only the environment. */
  file?: string;
  environment: Environment;
  known: KnownProviders;
  /** Above the file: what the command line says. */
  host?: string;
  port?: number;
}

/** The named file, or the default one where it exists, as an absolute path. */
export function configFile(named: string | undefined): string | undefined {
  if (named) return resolve(named);
  return existsSync(DEFAULT_FILE) ? resolve(DEFAULT_FILE) : undefined;
}

/** Throws `invalid_request` with a line `file:line: path: what is wrong` for every fault found. */
export function loadConfig(source: ConfigSource): Config {
  return parseConfig(textOf(source), source);
}

/** The configuration that `text` is, as if it stood in the source's file. */
export function parseConfig(text: string, source: ConfigSource): Config {
  const read = readSource(text, configSchema, source.environment);
  const faults = [...read.problems];
  const fault: ReportProblem = (path, message) => faults.push({ path, line: read.lineOf(path), message });
  const file: ConfigFile = read.value ?? {};
  if (faults.length === 0) checkFile(file, read, fault);
  const config = faults.length === 0 ? complete(file, { source, read, fault }) : undefined;
  if (!config || faults.length > 0) throw invalid(source.file ?? DEFAULT_FILE, faults);
  return config;
}

/** Empty where there is only the environment. Throws `invalid_request` in words. */
export function textOf({ file }: Pick<ConfigSource, 'file'>): string {
  if (file === undefined) return '';
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file' : (error as Error).message;
    throw new GatewayError('invalid_request', `${file}: ${reason}`, { cause: error });
  }
}

function invalid(file: string, faults: Source['problems']): GatewayError {
  const lines = faults
    .sort((one, other) => one.line - other.line)
    .map(({ path, line, message }) => `${file}:${line}: ${path === '' ? '' : `${path}: `}${message}`);
  return new GatewayError('invalid_request', lines.join('\n'));
}

function checkFile(file: ConfigFile, read: Source, fault: ReportProblem): void {
  for (const [path, names] of read.missing) {
    if (isOptional(path, file)) continue;
    fault(
      path,
      `needs the environment variable ${names.join(' and ')}, which is not set; \${NAME:-default} allows that`,
    );
  }
  for (const { path, message, allowed } of schemaProblems(configSchema, file)) {
    if (read.missing.has(path)) continue;
    fault(path, allowed ? unknownField(path, allowed) : redact(message));
  }
}

/** A provider without its key waits for it, and one that is off needs nothing. */
function isOptional(path: string, file: ConfigFile): boolean {
  return Object.entries(file.providers ?? {}).some(
    ([id, entry]) =>
      path === `providers.${id}.api_key` || (entry?.enabled === false && path.startsWith(`providers.${id}.`)),
  );
}

function unknownField(path: string, allowed: string[]): string {
  if (path.startsWith('providers.') && allowed.length === 0) {
    return /\.headers\./.test(path)
      ? 'is no header name'
      : 'is no provider id; use small letters, digits, ".", "_" and "-", with a letter or digit first';
  }
  const name = path.slice(path.lastIndexOf('.') + 1);
  const guess = nearest(name, allowed);
  return `unknown field${guess ? `; did you mean ${guess}?` : ''}; allowed: ${allowed.join(', ')}`;
}

interface Completion {
  source: ConfigSource;
  read: Source;
  fault: ReportProblem;
}

function complete(file: ConfigFile, { source, read, fault }: Completion): Config {
  const providers = resolveProviders({
    entries: file.providers ?? {},
    known: source.known,
    environment: source.environment,
    missing: read.missing,
    fault,
  });
  return {
    file: source.file,
    server: completeServer(file.server ?? {}, source, fault),
    ...completeData(file.data ?? DEFAULTS.data, fault),
    encryption: completeEncryption(file.encryption ?? {}, fault),
    network: completeNetwork(file.network ?? {}),
    callbacks: completeCallbacks(file.callbacks ?? {}, fault),
    videos: completeVideos(file.videos ?? {}, fault),
    usage: completeUsage(file.usage ?? {}),
    limits: completeLimits(file.limits ?? {}),
    admin: completeAdmin(file.admin ?? {}),
    telemetry: completeTelemetry(file.telemetry ?? {}),
    keys: completeKeys(file.keys ?? [], fault),
    providers,
    routing: completeRouting(file, providers, fault),
  };
}

function completeServer(
  server: NonNullable<ConfigFile['server']>,
  source: ConfigSource,
  fault: ReportProblem,
): ServerConfig {
  const deadlines = server.deadlines ?? {};
  const prefixes = {
    messages: server.prefixes?.messages ?? DEFAULTS.messages,
    generate: server.prefixes?.generate ?? DEFAULTS.generate,
  };
  if (prefixes.messages === prefixes.generate) fault('server.prefixes', 'must differ from each other');
  for (const [name, prefix] of Object.entries(prefixes)) {
    if (/^v1(\/|$)/.test(prefix)) fault(`server.prefixes.${name}`, 'must not begin with v1, which is taken');
  }
  checkRanges(server.trusted_proxies, 'server.trusted_proxies', fault);
  const bodyLimit = parseSize(server.body_limit ?? DEFAULTS.bodyLimit) as number;
  const bodyMemory = server.body_memory == null ? undefined : parseSize(server.body_memory);
  if (bodyMemory !== undefined && bodyMemory < bodyLimit) {
    fault('server.body_memory', 'must not be less than server.body_limit');
  }
  return {
    host: source.host ?? server.host ?? DEFAULTS.host,
    port: source.port ?? server.port ?? DEFAULTS.port,
    publicUrl: server.public_url && withoutEnd(server.public_url, '/'),
    trustedProxies: server.trusted_proxies ?? [],
    prefixes,
    bodyLimit,
    bodyMemory,
    connectionsPerAddress: server.connections_per_address ?? DEFAULTS.connectionsPerAddress,
    deadlines: {
      connect: milliseconds(deadlines.connect ?? DEFAULTS.connect),
      firstByte: milliseconds(deadlines.first_byte ?? DEFAULTS.firstByte),
      idle: milliseconds(deadlines.idle ?? DEFAULTS.idle),
      total: milliseconds(deadlines.total ?? DEFAULTS.total),
    },
    keepAlive: milliseconds(server.keep_alive ?? DEFAULTS.keepAlive),
  };
}

function checkRanges(ranges: readonly string[] | null | undefined, path: string, fault: ReportProblem): void {
  for (const [index, range] of (ranges ?? []).entries()) {
    if (!isRange(range)) fault(`${path}[${index}]`, 'must be an address range such as 10.0.0.0/8 or fd00::/8');
  }
}

/** Only for text that the schema accepted. */
function milliseconds(text: string): number {
  return parseDuration(text) as number;
}

/** With a database, files still have their usual folder. */
function completeData(data: string, fault: ReportProblem): Pick<Config, 'data' | 'postgres'> {
  const [, scheme] = /^([a-z][a-z0-9+.-]+):\/\//i.exec(data) ?? [];
  if (scheme === undefined) return { data: resolve(data) };
  if (!/^postgres(ql)?$/i.test(scheme)) fault('data', 'must be a folder or a postgres:// URL');
  return { data: resolve(DEFAULTS.data), postgres: new Secret(data) };
}

function completeKeys(entries: KeyEntry[], fault: ReportProblem): ConfiguredKey[] {
  return entries.map((entry, index) => {
    const { name, key, expires } = entry;
    const moment = expires ? parseMoment(expires) : undefined;
    if (expires && moment === undefined) fault(`keys[${index}].expires`, 'must be a date that exists');
    checkRanges(entry.cidrs, `keys[${index}].cidrs`, fault);
    if (entries.findIndex((other) => other.name === name) < index) {
      fault(`keys[${index}].name`, `is taken by another key, "${name}"`);
    }
    return {
      name,
      key: new Secret(key),
      expires: moment,
      settings: completeSettings(entry),
    };
  });
}
