/** Model catalog of all configured providers. Immutable: a reload builds a new one. */

import { GatewayError } from '../core/errors.ts';
import type { CatalogModel } from '../core/model.ts';
import type { PageQuery } from '../core/protocol.ts';
import { createModelNames, type ModelNames, type NamedModels, type NamingOptions } from './model-names.ts';

export interface Catalog extends ModelNames {
  /** All models in the order of the configuration. */
  all(): readonly CatalogModel[];
  /** Undefined for an unknown provider. */
  ofProvider(id: string): readonly CatalogModel[] | undefined;
  /** Keyset pagination. Throws `invalid_request` for an unknown cursor. */
  page(models: readonly CatalogModel[], page: PageQuery): { models: readonly CatalogModel[]; more: boolean };
}

/** A provider without a `type` has the type that its id names. */
export type CatalogList = Omit<NamedModels, 'type'> & Partial<Pick<NamedModels, 'type'>>;

/** A later entry with the same id replaces the earlier one at its position. */
export function createCatalog(entries: readonly CatalogList[], naming?: NamingOptions): Catalog {
  const providers = new Map<string, Map<string, CatalogModel>>();
  for (const { provider, models } of entries) {
    const byId = providers.get(provider) ?? new Map<string, CatalogModel>();
    for (const model of models) byId.set(model.id, model);
    providers.set(provider, byId);
  }
  const lists = withUniqueSlugs(providers);
  const all = Object.freeze([...lists.values()].flat());
  const named = [...lists].map(([provider, models]) => {
    const { type = provider, unlisted } = entries.find((entry) => entry.provider === provider) ?? {};
    return { provider, type, models, ...(unlisted && { unlisted }) };
  });
  return {
    all: () => all,
    ofProvider: (id) => lists.get(id),
    ...createModelNames(named, naming),
    page,
  };
}

/**
 * A slug identifies one model permanently. If the slug of a model is the id of another listed model, its own id becomes its
 * slug; of several models with one slug the first keeps it.
 */
function withUniqueSlugs(providers: ReadonlyMap<string, ReadonlyMap<string, CatalogModel>>) {
  const ids = new Set([...providers.values()].flatMap((byId) => [...byId.keys()]));
  const taken = new Set<string>();
  function unique(model: CatalogModel): CatalogModel {
    const { id, canonicalSlug } = model;
    const isFree = canonicalSlug === id || !(ids.has(canonicalSlug) || taken.has(canonicalSlug));
    taken.add(canonicalSlug);
    return isFree ? model : { ...model, canonicalSlug: id };
  }
  return new Map([...providers].map(([id, byId]) => [id, Object.freeze([...byId.values()].map(unique))]));
}

/** `before` returns the `limit` models directly before its cursor. */
function page(models: readonly CatalogModel[], { limit = models.length, after, before, offset = 0 }: PageQuery) {
  const from = after === undefined ? offset : indexOf(models, after, 'after') + 1;
  const to = before === undefined ? models.length : indexOf(models, before, 'before');
  const inside = models.slice(from, Math.max(from, to));
  const backwards = before !== undefined && after === undefined;
  return {
    models: backwards ? inside.slice(Math.max(0, inside.length - limit)) : inside.slice(0, limit),
    more: inside.length > limit,
  };
}

function indexOf(models: readonly CatalogModel[], id: string, param: string): number {
  const index = models.findIndex((model) => model.id === id);
  if (index < 0) throw new GatewayError('invalid_request', `${param} must be the id of a listed model.`, { param });
  return index;
}
