/** Which models there are at this moment and where a call for one of them can go. */

import type { Catalog } from '../catalog/catalog.ts';
import { GatewayError } from '../core/errors.ts';
import type { CatalogModel, Pricing } from '../core/model.ts';
import type { Provider } from '../core/provider.ts';
import type { Credentials } from '../transport/credentials.ts';
import type { EndpointFacts } from './candidate.ts';
import type { Endpoint } from './endpoint.ts';
import type { SortKey } from './policy.ts';

/** An upstream that is configured and can be reached. */
export interface ActiveProvider {
  provider: Provider;
  /** The id of its type. */
  typeId: string;
  credentials: Credentials;
  headers: Record<string, string>;
  /** Asks the upstream for models that are not known yet, if it was not just asked; settles also when it fails. */
  discoverModels?(): Promise<void>;
  /** A model by the id that the upstream knows, listed or not. */
  modelOf(upstreamId: string): CatalogModel;
}

/** A place that the operator says a model is served at. */
export interface RoutedEndpoint {
  /** The id of a provider. */
  provider: string;
  /** As the upstream knows it. */
  model: string;
  /** Lower is used first. */
  priority: number;
  weight?: number;
  pricing?: Pricing;
  facts: EndpointFacts;
}

/** What the operator says of names of models. */
export interface ConfiguredModels {
  models: ReadonlyMap<string, readonly RoutedEndpoint[]>;
  aliases: ReadonlyMap<string, string>;
  defaultModel?: string;
  sort?: SortKey;
  fallbackModels: readonly string[];
}

/** An atomic snapshot: a reload makes a new one, running calls keep theirs. */
export interface ModelDirectory {
  providers: ReadonlyMap<string, ActiveProvider>;
  catalog(): Catalog;
  routes: ConfiguredModels;
  /** Ids and types of providers: what requests may name. */
  slugs: ReadonlySet<string>;
}

/** Asks the upstream that a name points at where the name is not known yet. Throws `model_not_found`. */
export async function findModel(models: ModelDirectory, name: string): Promise<CatalogModel> {
  const known = models.catalog().find(name);
  if (known) return known;
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
 * One endpoint of a model, without a choice: of several that the configuration gives the first that can be reached.
 * Throws `model_not_found` for a name that is neither an alias nor `<provider>/<model_id>` of a known provider and model.
 */
export async function endpointOf(models: ModelDirectory, name: string): Promise<Pick<Endpoint, 'provider' | 'model'>> {
  const model = await findModel(models, name);
  const owner = models.providers.get(model.provider);
  if (!owner) throw new GatewayError('unavailable', `No provider of the model "${model.id}" is ready.`);
  return { provider: owner.provider, model };
}
