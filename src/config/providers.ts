/** Resolved providers: those in the file, then those enabled by environment variables. */

import type { IdentityVendor } from '../core/credential.ts';
import type { Json } from '../core/json/json.ts';
import { nearest } from '../core/nearest.ts';
import { FRAMING_HEADERS } from '../core/platform.ts';
import type { ProviderType } from '../core/provider.ts';
import { withoutEnd } from '../core/text.ts';
import type { VideoAbilities } from '../core/video.ts';
import { Secret } from '../security/secret.ts';
import type { LookUpVariable, ProviderIdentity } from './environment.ts';
import { apiKeyProblem } from './fields.ts';
import type { ConfiguredModel, ProviderConfig } from './resolved.ts';
import type { ModelSettings, ProviderEntry } from './schema.ts';

/** The part of a provider type that the configuration needs. */
export type KnownProvider = Pick<
  ProviderType,
  | 'id'
  | 'environment'
  | 'keyless'
  | 'builtIn'
  | 'baseUrl'
  | 'protocols'
  | 'choosesProtocols'
  | 'hasApiVersions'
  | 'identity'
>;

export type KnownProviders = ReadonlyMap<string, KnownProvider>;

export interface ProviderSources {
  entries: Record<string, ProviderEntry | null>;
  known: KnownProviders;
  lookUp: LookUpVariable;
  /** See `Source.missing`. */
  missing: ReadonlyMap<string, string[]>;
  report(path: string, message: string): void;
}

export function resolveProviders(sources: ProviderSources): ProviderConfig[] {
  const { entries, known } = sources;
  const configured = Object.entries(entries).flatMap(([id, entry]) => resolveEntry(id, entry ?? {}, sources) ?? []);
  const unconfigured = [...known.values()]
    .filter((type) => !Object.hasOwn(entries, type.id) && (!type.keyless || type.builtIn))
    .map((type) => resolveUnconfigured(type, sources));
  return [...configured, ...unconfigured];
}

function resolveUnconfigured(type: KnownProvider, sources: ProviderSources): ProviderConfig {
  const apiKeys = keyFromVariables(type.id, type, sources);
  if (apiKeys.length === 0 && !type.keyless) {
    return { state: 'waiting', id: type.id, type: type.id, waitingFor: [...type.environment] };
  }
  return { state: 'ready', id: type.id, type: type.id, apiKeys, headers: {} };
}

function resolveEntry(id: string, entry: ProviderEntry, sources: ProviderSources): ProviderConfig | undefined {
  if (entry.enabled === false) return undefined;
  const { known, missing, report } = sources;
  const path = `providers.${id}`;
  const type = known.get(entry.type ?? id);
  if (!type) {
    report(`${path}${entry.type === undefined ? '' : '.type'}`, typeProblem(id, entry, [...known.keys()]));
    return undefined;
  }
  const waitingFor = missing.get(`${path}.api_key`);
  if (waitingFor && entry.credentials == null)
    return { state: 'waiting', id, type: type.id, waitingFor, isConfigured: true };

  const isDefaultId = id === type.id;
  if (entry.api_key && entry.api_keys) report(`${path}.api_keys`, 'conflicts with api_key; set only one of them');
  const identity = resolveIdentity(entry, type, sources, path);
  const configuredKeys = (entry.api_keys ?? [entry.api_key]).flatMap((key, index) => {
    const keyPath = entry.api_keys ? `${path}.api_keys[${index}]` : `${path}.api_key`;
    return secretOf(key, type, (message) => report(keyPath, message)) ?? [];
  });
  const readsVariables = configuredKeys.length === 0 && isDefaultId && !identity;
  const apiKeys = readsVariables ? keyFromVariables(id, type, sources) : configuredKeys;
  const isAnonymous = apiKeys.length === 0 && !type.keyless && !identity;
  if (isAnonymous && isDefaultId) {
    return { state: 'waiting', id, type: type.id, waitingFor: [...type.environment], isConfigured: true };
  }
  if (isAnonymous && !entry.base_url) {
    report(path, `needs api_key, e.g. "\${${variableFor(id)}}", or the base_url of a server that needs no key`);
  }
  if (!entry.base_url && type.baseUrl === undefined && !type.builtIn) {
    report(path, 'needs base_url, e.g. http://127.0.0.1:8000/v1');
  }
  const protocols = entry.protocols ?? undefined;
  checkHeaders(entry.headers ?? {}, (name, message) => report(`${path}.headers.${name}`, message));
  if (protocols) checkProtocols(protocols, type, (message) => report(`${path}.protocols`, message));
  const apiVersion = entry.api_version ?? undefined;
  if (apiVersion !== undefined && !type.hasApiVersions)
    report(`${path}.api_version`, `may not be set: the API of the type ${type.id} has no dated versions`);
  return {
    state: 'ready',
    id,
    type: type.id,
    apiKeys,
    ...(identity && { identity }),
    baseUrl: entry.base_url && withoutEnd(entry.base_url, '/'),
    ...(protocols && { protocols }),
    ...(apiVersion !== undefined && { apiVersion }),
    keepsResponses: entry.keeps_responses ?? undefined,
    models: Array.isArray(entry.models) ? entry.models.map(resolveModel) : (entry.models ?? undefined),
    headers: Object.fromEntries(Object.entries(entry.headers ?? {}).map(([name, value]) => [name, new Secret(value)])),
  };
}

/** Members of `credentials` by the vendor of the identity, with their values. */
const IDENTITIES: Record<IdentityVendor, { names: readonly string[]; members: readonly string[]; form: string }> = {
  aws: {
    names: ['auto'],
    members: ['profile', 'role_arn', 'external_id', 'session_name'],
    form: 'auto, { profile: NAME } or { role_arn: ARN }',
  },
  google: { names: ['auto'], members: ['file'], form: 'auto or { file: PATH }' },
  azure: {
    names: ['managed', 'workload'],
    members: ['source', 'tenant_id', 'client_id', 'client_secret', 'scope'],
    form: 'managed, workload or { tenant_id: ID, client_id: ID, client_secret: SECRET }',
  },
};
/** Headers in place of which credentials are sent. */
const CARRIERS: Record<IdentityVendor, readonly string[]> = {
  aws: ['authorization'],
  google: ['authorization'],
  azure: ['authorization', 'api-key', 'x-api-key'],
};
/** Members one of which is needed, or all of which. */
const NEEDED: Record<IdentityVendor, (has: (member: string) => boolean) => boolean> = {
  aws: (has) => has('role_arn') || (has('profile') && !has('external_id') && !has('session_name')),
  google: (has) => has('file'),
  azure: (has) => has('source') !== (has('tenant_id') && has('client_id') && has('client_secret')),
};

function resolveIdentity(
  { credentials, api_key, api_keys, headers }: ProviderEntry,
  { id, identity: vendor }: KnownProvider,
  { lookUp, missing, report }: ProviderSources,
  path: string,
): ProviderIdentity | undefined {
  if (credentials == null) return undefined;
  const key = api_key || missing.has(`${path}.api_key`) ? 'api_key' : api_keys ? 'api_keys' : undefined;
  if (key) report(`${path}.credentials`, `conflicts with ${key}; set only one of them`);
  if (!vendor) {
    report(`${path}.credentials`, `may not be set: the type ${id} takes api_key`);
    return undefined;
  }
  const { names, members, form } = IDENTITIES[vendor];
  const header = Object.keys(headers ?? {}).find((name) => CARRIERS[vendor].includes(name.toLowerCase()));
  if (header) report(`${path}.credentials`, `conflicts with headers.${header}; set only one of them`);
  if (typeof credentials === 'string') {
    if (!names.includes(credentials)) report(`${path}.credentials`, `of the type ${id} must be ${form}`);
    return { settings: credentials, lookUp };
  }
  const given = Object.entries(credentials).filter((entry): entry is [string, string] => entry[1] != null);
  const has = (member: string) => given.some(([name]) => name === member);
  if (!given.every(([name]) => members.includes(name)) || !NEEDED[vendor](has))
    report(`${path}.credentials`, `of the type ${id} must be ${form}`);
  const settings = given.map(([name, value]) => [name, name === 'client_secret' ? new Secret(value) : value]);
  return { settings: Object.fromEntries(settings), lookUp };
}

function checkHeaders(headers: Record<string, string>, report: (name: string, message: string) => void): void {
  for (const [name, value] of Object.entries(headers)) {
    if (FRAMING_HEADERS.has(name.toLowerCase())) report(name, 'may not be set: the gateway frames its requests');
    else if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) report(name, 'has a character that no header can have');
  }
}

function checkProtocols(given: string[], type: KnownProvider, report: (message: string) => void): void {
  const { id, protocols, choosesProtocols } = type;
  if (!choosesProtocols) report(`may not be set: the type ${id} speaks ${protocols.join(', ') || 'no protocol'}`);
  else if (given.some((protocol) => !protocols.includes(protocol)))
    report(`must be a list of ${protocols.join(' and ')}`);
}

function typeProblem(id: string, { type, base_url: baseUrl }: ProviderEntry, allowed: string[]): string {
  const guess = nearest(type ?? id, allowed);
  const list = allowed.join(', ');
  if (type != null)
    return `"${type}" is not a provider type${guess ? `; did you mean ${guess}?` : ''}; allowed: ${list}`;
  const usual = baseUrl == null ? ', one of' : ': openai-compatible for a server with the API of OpenAI, or one of';
  return `needs type${usual} ${list}${guess ? `; or did you mean ${guess}?` : ''}`;
}

/** The first of the usual variables of the type that is set. */
function keyFromVariables(id: string, type: KnownProvider, { lookUp, report }: ProviderSources): Secret[] {
  for (const name of type.environment) {
    const { value, problem } = lookUp(name);
    if (problem !== undefined) report(`providers.${id}.api_key`, problem);
    const secret = secretOf(value, type, (message) => report(`providers.${id}.api_key`, `${name} ${message}`));
    if (secret) return [secret];
  }
  return [];
}

/**
 * White space around a key is of the file or the command that it comes from, and so are two quotes without anything between them.
 * A server that may need no key may have been given some words in its place.
 */
function secretOf(
  text: string | null | undefined,
  { keyless, identity }: KnownProvider,
  report: (message: string) => void,
): Secret | undefined {
  const key = text?.trim();
  if (!key || key === '""' || key === "''") return undefined;
  const problem = apiKeyProblem(key, keyless && !identity);
  if (problem !== undefined) report(problem);
  return new Secret(key);
}

function variableFor(id: string): string {
  return `${id.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`;
}

function resolveModel(settings: ModelSettings): ConfiguredModel {
  const { context_length, max_completion_tokens, input_modalities, output_modalities, supported_parameters } = settings;
  return withoutNulls({
    id: settings.id,
    base: settings.base,
    name: settings.name,
    contextLength: context_length,
    maxOutput: max_completion_tokens,
    pricing: settings.pricing,
    serviceTiers: settings.service_tiers && tiersOf(settings.service_tiers),
    inputModalities: input_modalities as ConfiguredModel['inputModalities'],
    outputModalities: (output_modalities ?? (settings.video && ['video'])) as ConfiguredModel['outputModalities'],
    supportedParameters: supported_parameters,
    created: settings.created,
    rules: settings.rules ? camelCased(settings.rules) : undefined,
    video: settings.video ? videoAbilities(settings.video) : undefined,
  });
}

function tiersOf(prices: NonNullable<ModelSettings['service_tiers']>): ConfiguredModel['serviceTiers'] {
  return Object.fromEntries(Object.entries(prices).map(([name, pricing]) => [name, { pricing }]));
}

function videoAbilities({ prices, ...settings }: Json): VideoAbilities {
  const { defaults, ...abilities } = camelCased(settings);
  return withoutNulls({ ...abilities, defaults: defaults ? camelCased(defaults) : undefined, prices });
}

function camelCased(rules: Json): Json {
  const renamed = Object.entries(rules).map(([name, value]) => [
    name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return withoutNulls(Object.fromEntries(renamed));
}

function withoutNulls<Value extends object>(value: Value): Value {
  return Object.fromEntries(
    Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined),
  ) as Value;
}
