/** Provider registry: the configured providers and their models, bundled, configured or discovered. */

import type { Logger } from 'pino';
import { bundledEntries, bundledModels, type KnownEntries } from '../catalog/bundled.ts';
import { type Catalog, createCatalog } from '../catalog/catalog.ts';
import type { ProviderConfig, ReadyProvider } from '../config/resolved.ts';
import { Cancellation } from '../core/cancellation.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { keyCredential } from '../core/credential.ts';
import { GatewayError } from '../core/errors.ts';
import type { HttpProxy } from '../core/http-proxy.ts';
import type { CatalogModel } from '../core/model.ts';
import type { Provider, ProviderType } from '../core/provider.ts';
import { providerTypes } from '../providers/index.ts';
import { servedModels } from '../routing/endpoint.ts';
import type { ActiveProvider, ConfiguredModels, ModelDirectory } from '../routing/model-directory.ts';
import { createCredentials, type OpeningIdentity, openLater } from '../transport/credentials.ts';
import type { UpstreamClient } from '../transport/upstream-client.ts';
import type { LocalServer } from './local-servers.ts';
import {
  configuredModels,
  fetchModelList,
  listedModel,
  merge,
  modelListsOf,
  type ProviderTest,
  routedModels,
  testProvider,
  unlistedModel,
} from './model-list.ts';
import type { ProviderState } from './provider-state.ts';

export interface ProviderRegistry extends ModelDirectory {
  states(): ProviderState[];
  /** Asks a provider for its models now, also if they are known. Rejects with `not_found` for one that is not configured. */
  test(id: string): Promise<ProviderTest>;
  /** Asks the usual addresses of model servers on this machine, except for those of this gateway. */
  findLocalServers(ownPorts: readonly number[]): Promise<LocalServer[]>;
  /** Resolves once every provider that is asked for its models has answered, or failed to. */
  discovered(): Promise<void>;
  /** Models that a provider with this address listed; none if there is no such provider. */
  learnedModels(config: ReadyProvider): CatalogModel[];
  /** Stops the discovery of models. */
  close(): void;
}

type ProviderTypes = ReadonlyMap<string, ProviderType>;

interface RegistryContext {
  upstream: UpstreamClient;
  log: Logger;
  userAgent: string;
  /** Configured model names and aliases. */
  routes?: ConfiguredModels;
  clock?: Clock;
  proxy?: HttpProxy | undefined;
  /** The types of providers there are; the gateway's own if absent. */
  types?: ProviderTypes;
  /** Facts about models; the bundled ones if absent. */
  known?: KnownEntries;
}

const NO_ROUTES: ConfiguredModels = { models: new Map(), aliases: new Map(), bareNames: [], fallbackModels: [] };

/** Discovery interval after a success. */
const REFRESH_INTERVAL_MS = 60 * 60 * 1000;
/** Discovery interval after a failure. */
const RETRY_INTERVAL_MS = 30 * 1000;
/** Minimum time between two discoveries caused by calls for unknown models. */
const MIN_DISCOVERY_INTERVAL_MS = 1000;
interface RegisteredProvider extends ActiveProvider {
  config: ReadyProvider;
  type: ProviderType;
  known: KnownEntries | undefined;
  models: CatalogModel[];
  /** Models of the catalog and the configuration. */
  own: CatalogModel[];
  /** Models that the registry before had learned, until its lists are read again. */
  inherited: CatalogModel[];
  learned: CatalogModel[];
  problem?: string;
  cancelDiscovery?: () => void;
  discovery?: Promise<void>;
  identity?: OpeningIdentity | undefined;
  /** Start of the last discovery. */
  lastDiscoveryAt: number;
}

/** `before`: the registry that this one replaces. */
export function createProviderRegistry(
  configs: readonly ProviderConfig[],
  context: RegistryContext,
  before?: Pick<ProviderRegistry, 'learnedModels'>,
): ProviderRegistry {
  const registered = new Map<string, RegisteredProvider>();
  const { routes = NO_ROUTES, types = providerTypes, clock = systemClock, log } = context;
  const slugs = new Set([...types.keys(), ...configs.map(({ id }) => id)]);
  const tests = new Map<string, Promise<ProviderTest>>();
  let search: Promise<LocalServer[]> | undefined;
  let catalog: Catalog;
  const closing = new Cancellation();

  for (const config of configs) {
    if (config.state !== 'ready') continue;
    const entry = activate(config, types, context);
    registered.set(config.id, entry);
    if (modelListsOf(entry).length > 0) inherit(entry, before?.learnedModels(config) ?? []);
  }
  rebuild();
  const discoveries: Promise<void>[] = [];
  for (const entry of registered.values()) {
    if (entry.identity) discoveries.push(entry.identity.opened);
    if (modelListsOf(entry).length === 0) continue;
    discoveries.push(discover(entry));
    entry.discoverModels = async () => {
      if (entry.discovery || clock.monotonic() - entry.lastDiscoveryAt > MIN_DISCOVERY_INTERVAL_MS)
        await discover(entry);
    };
  }

  function rebuild(): void {
    const entries = [...registered].map(([provider, entry]) => ({
      provider,
      type: entry.typeId,
      models: entry.models,
      ...(entry.config.models === 'any' && { unlisted: (upstreamId: string) => unlistedModel(entry, upstreamId) }),
    }));
    const known = new Set(entries.flatMap(({ models }) => models.map(({ id }) => id)));
    const routed = routedModels(routes, registered).filter(({ models: [model] }) => model && !known.has(model.id));
    catalog = createCatalog([...entries, ...routed], routes);
  }

  function discover(entry: RegisteredProvider): Promise<void> {
    entry.cancelDiscovery?.();
    entry.discovery ??= runDiscovery(entry).finally(() => {
      entry.discovery = undefined;
    });
    return entry.discovery;
  }

  async function runDiscovery(entry: RegisteredProvider): Promise<void> {
    entry.lastDiscoveryAt = clock.monotonic();
    try {
      for (const list of modelListsOf(entry)) {
        const body = await fetchModelList(entry, list, { ...context, closing });
        entry.learned = merge(entry.learned, list.read(entry.config.id, body, entry.type.catalog, entry.known));
        inherit(entry, entry.inherited);
        rebuild();
      }
      entry.problem = undefined;
      if (entry.inherited.length > 0) {
        inherit(entry, []);
        rebuild();
      }
    } catch (error) {
      entry.problem = error instanceof GatewayError ? error.message : 'Its list of models could not be read.';
      if (!closing.isCancelled) log.warn({ provider: entry.config.id, problem: entry.problem }, 'models not learned');
    }
    if (closing.isCancelled) return;
    const intervalMs = entry.problem ? RETRY_INTERVAL_MS : REFRESH_INTERVAL_MS;
    entry.cancelDiscovery = clock.after(intervalMs, () => void discover(entry));
  }

  async function runTest(id: string): Promise<ProviderTest> {
    const config = configs.find((one) => one.id === id);
    if (!config) throw new GatewayError('not_found', 'There is no provider with this id.');
    if (config.state === 'waiting')
      return { ok: false, ms: 0, problem: `It waits for ${config.waitingFor.join(' or ')}.` };
    const entry = registered.get(id) as RegisteredProvider;
    if (entry.type.builtIn) return { ok: true, ms: 0, models: entry.models.length };
    return testProvider(entry, context);
  }

  async function searchLocalServers(ownPorts: readonly number[]): Promise<LocalServer[]> {
    const { findLocalServers } = await import('./local-servers.ts');
    return findLocalServers({ ...context, clock, types, configs, ownPorts });
  }

  return {
    providers: registered,
    catalog: () => catalog,
    routes,
    slugs,
    waitingProviderOf: (name) =>
      configs.find((config) => isWaitingWith(name, config, { types, known: context.known }))?.id,
    test(id) {
      const running = tests.get(id) ?? runTest(id).finally(() => tests.delete(id));
      tests.set(id, running);
      return running;
    },
    findLocalServers(ownPorts) {
      search ??= searchLocalServers(ownPorts).finally(() => {
        search = undefined;
      });
      return search;
    },
    states: () => configs.map((config) => stateOf(config, registered.get(config.id))),
    async discovered() {
      await Promise.all(discoveries);
    },
    learnedModels({ id, type, baseUrl, models }) {
      const entry = registered.get(id);
      const { config } = entry ?? {};
      const isSame = config?.type === type && config.baseUrl === baseUrl && config.models === models;
      return entry && isSame ? merge(entry.inherited, entry.learned) : [];
    },
    close() {
      closing.cancel();
      for (const { cancelDiscovery } of registered.values()) cancelDiscovery?.();
    },
  };
}

/** Whether a provider that is not connected has a bundled model. */
function isWaitingWith(
  name: string,
  { state, type: typeId }: ProviderConfig,
  { types, known = bundledEntries() }: { types: ProviderTypes; known: KnownEntries | undefined },
): boolean {
  const vendor = types.get(typeId)?.catalog ?? typeId;
  return state === 'waiting' && known.get(vendor)?.has(name) === true;
}

function activate(config: ReadyProvider, types: ProviderTypes, context: RegistryContext): RegisteredProvider {
  const { clock = systemClock, known } = context;
  const type = types.get(config.type);
  if (!type) throw new Error(`no provider type ${config.type}`);
  const { id, baseUrl, protocols, apiVersion, keepsResponses } = config;
  const provider = withKeptResponses(
    type.create({ id, baseUrl, protocols, apiVersion, keepsResponses, clock }),
    config,
  );
  const headers = Object.fromEntries(Object.entries(config.headers).map(([name, value]) => [name, value.reveal()]));
  const keys = config.apiKeys.map((key) => (type.readKey ?? keyCredential)(key.reveal()));
  const identity = identityOf(config, type, context);
  const credentials = createCredentials(identity ? [identity.value] : keys, clock.monotonic);
  const bundled = provider.models ?? bundledModels(config.id, type.catalog ?? type.id, known);
  const own = merge(servedModels(provider, bundled), configuredModels({ config, type, known }));
  const registered: RegisteredProvider = {
    config,
    type,
    known,
    typeId: type.id,
    provider,
    credentials,
    headers,
    identity,
    lastDiscoveryAt: 0,
    models: own,
    own,
    inherited: [],
    learned: [],
    modelOf: (upstreamId) => listedModel(registered, upstreamId),
  };
  return registered;
}

/** The identity of a provider, if it has one. */
function identityOf(
  { id: provider, baseUrl = '', identity }: ReadyProvider,
  { identity: vendor, readKey }: ProviderType,
  { clock, log, proxy }: RegistryContext,
): OpeningIdentity | undefined {
  if (!identity || !vendor) return undefined;
  const onFailure = (problem: string) => log.warn({ provider, problem }, 'credentials not renewed');
  const settings = { ...identity, vendor, baseUrl, readKey, clock, proxy, onFailure };
  return openLater(`${vendor} ${JSON.stringify(identity.settings)}`, async () =>
    (await import('../identity/index.ts')).openIdentity(settings),
  );
}

/** The provider, keeping responses or not as it is configured. */
function withKeptResponses(provider: Provider, { keepsResponses }: ReadyProvider): Provider {
  if (keepsResponses === undefined) return provider;
  return { ...provider, speaks: (model) => provider.speaks(model).map((dialect) => ({ ...dialect, keepsResponses })) };
}

function inherit(entry: RegisteredProvider, inherited: CatalogModel[]): void {
  entry.inherited = inherited;
  entry.models = merge(merge(entry.own, inherited), entry.learned);
}

function stateOf(config: ProviderConfig, listed: RegisteredProvider | undefined): ProviderState {
  if (config.state === 'waiting') return { id: config.id, state: 'waiting', models: 0, waitingFor: config.waitingFor };
  const { models = [], identity } = listed ?? {};
  const { problem = listed?.problem, name: credentials } = identity?.status() ?? {};
  const state = problem === undefined ? 'ready' : 'unreachable';
  return { id: config.id, state, models: models.length, problem, ...(credentials && { credentials }) };
}
