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
  weight?: number;
  pricing?: Pricing;
  facts: EndpointFacts;
}

/** Configured model names, aliases and routing defaults. */
export interface ConfiguredModels {
  models: ReadonlyMap<string, readonly RoutedEndpoint[]>;
  aliases: ReadonlyMap<string, string>;
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
}

/** Finds a model; discovers the models of its provider if it is unknown. Throws and rejects with `model_not_found`. */
export function findModel(models: ModelDirectory, name: string): CatalogModel | Promise<CatalogModel> {
  return models.catalog().find(name) ?? discoverModel(models, name);
}

async function discoverModel(models: ModelDirectory, name: string): Promise<CatalogModel> {
  const slash = name.indexOf('/');
  if (slash <= 0 || slash === name.length - 1) {
    throw new GatewayError('model_not_found', `The model "${name}" is not of the form <provider>/<model_id>.`, {
      param: 'model',
    });
  }
  const active = models.providers.get(name.slice(0, slash));
  await active?.discoverModels?.();
  const learned = models.catalog().find(name);
  if (learned) return learned;
  if (active) {
    throw new GatewayError(
      'model_not_found',
      `The provider "${active.provider.id}" has no model "${name.slice(slash + 1)}".`,
      { param: 'model' },
    );
  }
  const ready = [...models.providers.keys()].join(', ');
  throw new GatewayError(
    'model_not_found',
    `There is no provider "${name.slice(0, slash)}"; configured are: ${ready}.`,
    { param: 'model' },
  );
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
