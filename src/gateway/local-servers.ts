/** Search for model servers of this machine, at the usual addresses of their types, and no others. */

import type { KnownEntries } from '../catalog/bundled.ts';
import { discoveredModels } from '../catalog/discovered.ts';
import type { ProviderConfig } from '../config/resolved.ts';
import { GatewayError } from '../core/errors.ts';
import { isObject } from '../core/json/json.ts';
import { isLoopback } from '../core/loopback.ts';
import type { ProviderType } from '../core/provider.ts';
import { createCredentials } from '../transport/credentials.ts';
import { type AskContext, fetchModelList } from './model-list.ts';

export interface LocalServer {
  /** Id of the provider type. */
  type: string;
  name: string;
  baseUrl: string;
  /** `itself`: the gateway listens there. `unclear`: something answers, but not with a list of models. */
  state: 'found' | 'absent' | 'itself' | 'unclear';
  models: number;
  /** Ids of the first models, as requests would name them. */
  firstModels: string[];
  /** Reason for which it is unclear. */
  problem?: string;
  /** Ids of the providers that are configured with this address. */
  configuredAs: string[];
  /** Lines of the configuration that add it. */
  lines: string;
}

type LocalType = ProviderType & { baseUrl: string };

interface SearchContext extends AskContext {
  types: ReadonlyMap<string, ProviderType>;
  configs: readonly ProviderConfig[];
  known?: KnownEntries | undefined;
  /** Ports of this gateway. */
  ownPorts: readonly number[];
}

/** Any program may listen at one of the ports. */
const SEARCH_LIMITS = { timeoutMs: 2000, maxBytes: 1024 * 1024 };
const MAX_SHOWN_MODELS = 5;
const MAX_SHOWN_LENGTH = 200;

export function findLocalServers(context: SearchContext): Promise<LocalServer[]> {
  const local = [...context.types.values()].filter(isLocal);
  return Promise.all(local.map((type) => look(type, context)));
}

function isLocal(type: ProviderType): type is LocalType {
  return type.keyless && type.modelsPath !== undefined && loopbackPortOf(type.baseUrl) !== undefined;
}

async function look(type: LocalType, context: SearchContext): Promise<LocalServer> {
  const configuredAs = context.configs.filter((config) => isAt(type, config, context)).map(({ id }) => id);
  const id = configuredAs[0] ?? freeId(type.id, context.configs);
  const about = { type: type.id, name: type.name, baseUrl: type.baseUrl, configuredAs, lines: linesOf(id, type) };
  const none = { ...about, models: 0, firstModels: [] };
  if (context.ownPorts.some((port) => port === loopbackPortOf(type.baseUrl))) return { ...none, state: 'itself' };
  try {
    const body = await ask(type, context);
    const ids = discoveredModels(id, body, type.catalog, context.known).map((model) => model.id);
    const firstModels = ids.slice(0, MAX_SHOWN_MODELS).map((text) => text.slice(0, MAX_SHOWN_LENGTH));
    return { ...about, state: 'found', models: ids.length, firstModels };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'unavailable') return { ...none, state: 'absent' };
    return { ...none, state: 'unclear', problem: error.message };
  }
}

/** Sends no key, even if one is configured, because the server is unknown. */
async function ask(type: LocalType, context: SearchContext): Promise<object> {
  const asked = { provider: type.create({ id: type.id }), credentials: createCredentials([]), headers: {} };
  const list = { path: type.modelsPath ?? '/models', optional: false, ...SEARCH_LIMITS };
  const body = await fetchModelList(asked, list, context);
  // Ollama without models answers with `data: null`.
  if (isObject(body) && ('data' in body || 'models' in body)) return body;
  throw new GatewayError('upstream_error', 'It answered with something that is no list of models.');
}

function isAt(type: LocalType, config: ProviderConfig, { types }: SearchContext): boolean {
  const url = (config.state === 'ready' ? config.baseUrl : undefined) ?? types.get(config.type)?.baseUrl;
  return loopbackPortOf(url) === loopbackPortOf(type.baseUrl);
}

/** Undefined for an address that is not on this machine. */
function loopbackPortOf(url = ''): number | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname, port, protocol } = new URL(url);
  if (!isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'))) return undefined;
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

function freeId(type: string, configs: readonly ProviderConfig[]): string {
  const taken = new Set(configs.map(({ id }) => id));
  const ids = [type, `${type}-local`, ...configs.map((_, index) => `${type}-${index + 2}`)];
  return ids.find((id) => !taken.has(id)) ?? type;
}

function linesOf(id: string, type: LocalType): string {
  const entry = id === type.id ? ' {}' : `\n    type: ${type.id}`;
  return `providers:\n  ${id}:${entry}\n`;
}
