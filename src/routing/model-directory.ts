/** Model directory: the current providers, models, aliases and configured endpoints. */

import type { Catalog } from '../catalog/catalog.ts';
import { GatewayError } from '../core/errors.ts';
import type { CatalogModel, Pricing } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import type { Credentials } from '../transport/credentials.ts';
import type { EndpointFacts } from './candidate.ts';
import type { Endpoint } from './endpoint.ts';
import type { SortKey } from './policy.ts';

/** A configured provider that is ready. */
export interface ActiveProvider {
  provider: Provider;
  /** The id of the provider type. */
  typeId: string;
  credentials: Credentials;
  headers: Record<string, string>;
  /** Discovers new models of the upstream, at a limited rate. Resolves even if discovery fails. */
  discoverModels?(): Promise<void>;
  /** Reason for which the last discovery failed. */
  problem?: string | undefined;
  /** The model with this upstream id, in the catalog or not. */
  modelOf(upstreamId: string): CatalogModel;
}

/** An endpoint that the configuration gives to a model. */
export interface RoutedEndpoint {
  /** The id of a provider. */
  provider: string;
  /** Model id at the upstream. */
  model: string;
  /** Lower numbers are tried first. */
  priority: number;
  /** Relative share of requests; counts as 1 if only other endpoints have one. */
  weight?: number;
  pricing?: Pricing;
  facts: EndpointFacts;
}

/** Configured model names, aliases and routing defaults. */
export interface ConfiguredModels {
  models: ReadonlyMap<string, readonly RoutedEndpoint[]>;
  /** Model names by alias, which may be a glob. */
  aliases: ReadonlyMap<string, string>;
  /** Order of the providers for names without a provider. */
  bareNames: readonly string[];
  defaultModel?: string;
  sort?: SortKey;
  fallbackModels: readonly string[];
}

/** Immutable snapshot: a reload creates a new one, running calls keep the old one. */
export interface ModelDirectory {
  providers: ReadonlyMap<string, ActiveProvider>;
  catalog(): Catalog;
  routes: ConfiguredModels;
  /** Provider ids and types that requests may name. */
  slugs: ReadonlySet<string>;
  /** A provider that has a model of this name, but is not connected. */
  waitingProviderOf?(name: string): string | undefined;
}

/**
 * Finds a model; discovers the models of its provider if it is unknown. Rejects with `model_not_found`, and with `unavailable`
 * where the provider's list of models cannot be read.
 */
export function findModel(models: ModelDirectory, name: string): CatalogModel | Promise<CatalogModel> {
  return models.catalog().find(name) ?? discoverModel(models, name);
}

/** Suggested delay before a retry while a list of models cannot be read; the next call reads it again. */
const RETRY_AFTER_MS = 1000;

async function discoverModel(models: ModelDirectory, name: string): Promise<CatalogModel> {
  const slash = name.indexOf('/');
  const active = slash > 0 ? models.providers.get(name.slice(0, slash)) : undefined;
  await active?.discoverModels?.();
  const learned = models.catalog().find(name);
  if (learned) return learned;
  if (active?.problem !== undefined) {
    const { id } = active.provider;
    const message = `The models of the provider "${id}" are not known at the moment: ${active.problem} If its server has no list of models, providers.${id}.models in the configuration names them.`;
    throw new GatewayError('unavailable', message, { retryAfter: RETRY_AFTER_MS });
  }
  const similar = models.catalog().similar(name);
  const hint = similar.length > 0 ? ` Similar are: ${similar.join(', ')}.` : '';
  throw new GatewayError('model_not_found', `${absenceOf(models, name, { slash, active })}${hint}`, { param: 'model' });
}

function absenceOf(
  models: ModelDirectory,
  name: string,
  { slash, active }: { slash: number; active: ActiveProvider | undefined },
): string {
  if (slash <= 0) {
    const waiting = models.waitingProviderOf?.(name);
    return waiting === undefined
      ? `There is no model "${name}"; a model is named <provider>/<model id>, as GET /v1/models lists it.`
      : `The model "${name}" is one of the provider "${waiting}", which is not connected; polygate providers shows what it waits for.`;
  }
  if (!active) {
    const ready = [...models.providers.keys()].join(', ');
    const id = name.slice(0, slash);
    if (!models.slugs.has(id)) return `There is no provider "${id}"; configured are: ${ready}.`;
    return `The provider "${id}" is not connected; polygate providers shows what it waits for. Connected are: ${ready}.`;
  }
  const { id } = active.provider;
  const advice = `providers.${id}.models: any in the configuration passes on ids that are not listed.`;
  return `The provider "${id}" has no model "${name.slice(slash + 1)}"; ${advice}`;
}

/** Whether an endpoint, named `<provider>/<model id at the upstream>` as in usage records, has a price, zero included. */
export function hasPrice({ providers, routes }: Pick<ModelDirectory, 'providers' | 'routes'>, name: string): boolean {
  const slash = name.indexOf('/');
  const [provider, upstreamId] = [name.slice(0, slash), name.slice(slash + 1)];
  const pricing = providers.get(provider)?.modelOf(upstreamId).pricing ?? {};
  return Object.keys(pricing).length > 0 || pricedEndpoints(routes.models).has(name);
}

const pricedByRoutes = new WeakMap<ConfiguredModels['models'], ReadonlySet<string>>();

/** Names of the endpoints that a configuration gives a price; worked out once for each configuration. */
function pricedEndpoints(models: ConfiguredModels['models']): ReadonlySet<string> {
  const known = pricedByRoutes.get(models);
  if (known) return known;
  const priced = [...models.values()].flat().filter(({ pricing }) => pricing !== undefined);
  const names = new Set(priced.map(({ provider, model }) => `${provider}/${model}`));
  pricedByRoutes.set(models, names);
  return names;
}

/**
 * The endpoint of a model at its own provider, without a routing decision.
 * Throws `model_not_found` for a name that is neither an alias nor `<provider>/<model_id>` of a known provider and model.
 */
export async function endpointOf(models: ModelDirectory, name: string): Promise<Pick<Endpoint, 'provider' | 'model'>> {
  const model = await findModel(models, name);
  const owner = models.providers.get(model.provider);
  if (!owner) throw new GatewayError('unavailable', `No provider of the model "${model.id}" is ready.`);
  return { provider: owner.provider, model };
}
