/** Names by which requests call models: aliases, ids, canonical slugs, and ids without the provider. */

import { matchesGlob } from '../core/glob.ts';
import type { CatalogModel } from '../core/model.ts';
import { editDistance } from '../core/nearest.ts';

/** Models of one provider, as far as their names are concerned. */
export interface NamedModels {
  provider: string;
  /** Provider type, which is the vendor's name where the provider is the vendor. */
  type: string;
  models: readonly CatalogModel[];
  /** Describes a model that is not in the list; absent if the provider refuses such models. */
  unlisted?(upstreamId: string): CatalogModel;
}

export interface NamingOptions {
  /** Models by other names, which may be globs. */
  aliases?: ReadonlyMap<string, string>;
  /** Providers in the order in which a name without a provider is looked up; the others follow. */
  bareNames?: readonly string[];
}

/** Ids that `models: any` passes on: printable, without empty or relative path segments. */
const UNLISTED_ID = /^(?!.*(?:^|\/)\.{0,2}(?:\/|$))[\w.:@~+/-]{1,200}$/;
/** Longer names have no suggestions. */
const MAX_SUGGESTED_CHARACTERS = 80;
/** Names of each alphabetical order that are compared with a misspelled one. */
const MAX_COMPARED_NEIGHBORS = 24;
const MAX_SUGGESTIONS = 3;
/** Tag that names have where they have none, as at Ollama. */
const USUAL_TAG = ':latest';
/** Names that begin with a shorter one are not suggested for it. */
const MIN_BEGINNING_CHARACTERS = 3;

export interface ModelNames {
  /** Model by alias, id, canonical slug, or id without the provider; also without its tag `latest`. */
  find(name: string): CatalogModel | undefined;
  /** The name that an alias stands for; any other name as it is. */
  resolveAlias(name: string): string;
  /** Ids of models with a similar name, the most similar first. */
  similar(name: string): string[];
}

export function createModelNames(lists: readonly NamedModels[], options: NamingOptions = {}): ModelNames {
  const { aliases = new Map<string, string>(), bareNames = [] } = options;
  const all = lists.flatMap(({ models }) => models);
  const byId = new Map(all.map((model) => [model.id, model]));
  const bySlug = new Map(all.toReversed().map((model) => [model.canonicalSlug, model]));
  const globs = [...aliases].filter(([name]) => name.includes('*'));
  const byProvider = new Map(lists.map((list) => [list.provider, list]));
  const byBareName = indexBareNames(lists, bareNames);
  let neighbors: ReturnType<typeof createNeighbors> | undefined;

  function listed(name: string): CatalogModel | undefined {
    return byId.get(name) ?? bySlug.get(name);
  }

  function resolveAlias(name: string): string {
    const exact = aliases.get(name);
    if (exact !== undefined || globs.length === 0 || listed(name)) return exact ?? name;
    return globs.find(([glob]) => matchesGlob(glob, name))?.[1] ?? name;
  }

  function find(asked: string): CatalogModel | undefined {
    const name = resolveAlias(asked);
    const slash = name.indexOf('/');
    const owner = slash > 0 ? byProvider.get(name.slice(0, slash)) : undefined;
    const named = (text: string) => listed(text) ?? (owner ? undefined : byBareName.get(text));
    const known = named(name) ?? named(`${name}${USUAL_TAG}`);
    if (known || !owner?.unlisted) return known;
    const upstreamId = name.slice(slash + 1);
    return UNLISTED_ID.test(upstreamId) ? owner.unlisted(upstreamId) : undefined;
  }

  return {
    find,
    resolveAlias,
    similar(name) {
      if (name.length > MAX_SUGGESTED_CHARACTERS) return [];
      neighbors ??= createNeighbors([...byId.keys()]);
      return neighbors(name);
    },
  };
}

/**
 * Models by their ids and canonical slugs without the provider. Of several models with one name the one of the first
 * provider in `order` counts, then that of the vendor, then that of the first provider.
 */
function indexBareNames(lists: readonly NamedModels[], order: readonly string[]): ReadonlyMap<string, CatalogModel> {
  const index = new Map<string, CatalogModel>();
  function add(models: Iterable<CatalogModel>, nameOf: (model: CatalogModel) => string): void {
    for (const model of models) {
      const name = nameOf(model);
      const prefix = `${model.id.slice(0, model.id.indexOf('/'))}/`;
      if (!name.startsWith(prefix)) continue;
      const bare = name.slice(prefix.length);
      if (!index.has(bare)) index.set(bare, model);
    }
  }
  const rankOf = (id: string) => (order.includes(id) ? order.indexOf(id) : order.length);
  const ranked = lists.toSorted((one, other) => rankOf(one.provider) - rankOf(other.provider));
  const chosen = ranked.filter(({ provider }) => order.includes(provider));
  const others = ranked.filter(({ provider }) => !order.includes(provider));
  const preferred = [
    ...chosen.flatMap(({ models }) => models),
    ...others.flatMap(({ type, models }) => models.filter(({ ownedBy }) => ownedBy === type)),
    ...others.flatMap(({ models }) => models),
  ];
  add(preferred, ({ id }) => id);
  add(preferred, ({ canonicalSlug }) => canonicalSlug);
  return index;
}

/** Compares a name only with its neighbors in two alphabetical orders, of the names and of the names read backwards. */
function createNeighbors(ids: readonly string[]) {
  const forward = ids.map((id) => ({ key: bareOf(id), id })).toSorted(byKey);
  const backward = ids.map((id) => ({ key: reversed(bareOf(id)), id })).toSorted(byKey);
  return (name: string): string[] => {
    const bare = bareOf(name).toLowerCase();
    const near = new Set([...around(forward, bare), ...around(backward, reversed(bare))]);
    const most = Math.max(1, Math.floor(bare.length / 3));
    return [...near]
      .map((id) => ({ id, edits: editDistance(bareOf(id).toLowerCase(), bare) }))
      .filter(({ id, edits }) => edits <= most || isLonger(bareOf(id).toLowerCase(), bare))
      .toSorted((one, other) => one.edits - other.edits)
      .slice(0, MAX_SUGGESTIONS)
      .map(({ id }) => id);
  };
}

/** Whether a name is another one with more behind it, such as a tag, a size or a date. */
function isLonger(name: string, beginning: string): boolean {
  const next = name.charAt(beginning.length);
  return beginning.length >= MIN_BEGINNING_CHARACTERS && name.startsWith(beginning) && /[-:.@_]/.test(next);
}

interface SortedId {
  key: string;
  id: string;
}

function byKey(one: SortedId, other: SortedId): number {
  return one.key < other.key ? -1 : 1;
}

function around(sorted: readonly SortedId[], key: string): string[] {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.key ?? '') < key) low = middle + 1;
    else high = middle;
  }
  const near = sorted.slice(Math.max(0, low - MAX_COMPARED_NEIGHBORS), low + MAX_COMPARED_NEIGHBORS);
  return near.filter((one) => one.key.length <= MAX_SUGGESTED_CHARACTERS).map(({ id }) => id);
}

function bareOf(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

function reversed(text: string): string {
  return [...text].reverse().join('');
}
