/** Names of models in requests and settings: their suffixes (`:floor`, `:nitro`, `:exacto`, `:<provider>`), and names that no model has. */

import type { CatalogModel } from '../core/model.ts';
import type { ModelDirectory } from './model-directory.ts';
import type { RoutingPolicy } from './policy.ts';
import { createProviderSlugs, type ProviderSlugs } from './slugs.ts';

/** Policy fields that a suffix sets. */
type SuffixOverrides = Partial<Pick<RoutingPolicy, 'sort' | 'pin'>>;

const SUFFIXES: Record<string, SuffixOverrides> = {
  floor: { sort: 'price' },
  nitro: { sort: 'throughput' },
  exacto: { sort: 'throughput' },
};

/** Overrides of a model name without a suffix. */
export const NO_OVERRIDES: SuffixOverrides = {};

export interface NamedModel {
  name: string;
  /** These override the rest of the policy. */
  overrides: SuffixOverrides;
}

/** A known model name is never split, nor is a name with an unknown suffix. */
export function splitModelName(text: string, isKnown: (name: string) => boolean, slugs: ProviderSlugs): NamedModel {
  const colon = text.lastIndexOf(':');
  if (colon <= 0 || isKnown(text)) return { name: text, overrides: NO_OVERRIDES };
  const suffix = text.slice(colon + 1);
  const name = text.slice(0, colon);
  const overrides = Object.hasOwn(SUFFIXES, suffix) ? SUFFIXES[suffix] : undefined;
  if (overrides) return { name, overrides };
  if (slugs.providerOf(suffix) !== undefined) return { name, overrides: { pin: slugs.selector(suffix, 'model') } };
  return { name: text, overrides: NO_OVERRIDES };
}

/** Whether a name is that of a model that its provider lists. */
export function isListed({ catalog }: ModelDirectory, name: string): boolean {
  const found = catalog().find(name);
  return found !== undefined && !found.unlisted;
}

/** A name of a request or of the configuration, with its suffix by the models that there are. */
export function readModelName(text: string, models: ModelDirectory, slugs: ProviderSlugs): NamedModel {
  const isWhole = (name: string): boolean => isListed(models, name) && !isMetWithoutSuffix(models, name);
  return splitModelName(text, isWhole, slugs);
}

/** Whether the glob of an alias meets a name with its suffix and without. */
function isMetWithoutSuffix({ catalog, routes }: ModelDirectory, text: string): boolean {
  const { resolveAlias } = catalog();
  const model = resolveAlias(text);
  return model !== text && !routes.aliases.has(text) && model === resolveAlias(text.slice(0, text.lastIndexOf(':')));
}

/** Model that a setting names and nothing has. */
export interface UnknownModel {
  setting: string;
  name: string;
  /** Provider of an endpoint, which gets its requests although it does not list the model. */
  provider?: string;
}

/** Models of the routing settings and of endpoints that no provider has, where all providers that may have them have listed their models. */
export function unknownModels(models: ModelDirectory): UnknownModel[] {
  const { defaultModel, fallbackModels, aliases } = models.routes;
  const named: UnknownModel[] = [
    ...(defaultModel === undefined ? [] : [{ setting: 'default_model', name: defaultModel }]),
    ...fallbackModels.map((name, index) => ({ setting: `routing.fallback_models[${index}]`, name })),
    ...[...aliases].map(([alias, name]) => ({ setting: `aliases.${alias}`, name })),
  ];
  const slugs = createProviderSlugs(models.slugs);
  return [
    ...named.filter(({ name }) => isUnknown(models, readModelName(name, models, slugs).name)),
    ...unlistedEndpoints(models),
  ];
}

/** Models of endpoints without a price of their own that are not in the list of their provider, where it has one. */
function unlistedEndpoints({ catalog, routes, providers }: ModelDirectory): UnknownModel[] {
  const { ofProvider, find } = catalog();
  const known = new Map<string, ReadonlySet<string>>();

  function namesAt(provider: string): ReadonlySet<string> {
    let names = known.get(provider);
    if (!names) {
      const isListed = providers.get(provider)?.problem === undefined;
      names = namesOf(provider, (isListed && ofProvider(provider)) || []);
      known.set(provider, names);
    }
    return names;
  }

  return [...routes.models].flatMap(([model, endpoints]) =>
    endpoints.flatMap(({ provider, model: name, pricing }, index) => {
      const names = namesAt(provider);
      // A provider with `models: any` takes every id.
      if (names.size === 0 || names.has(name) || pricing) return [];
      const found = find(`${provider}/${name}`);
      // Ollama and servers like it have models without their tag, too.
      if (found?.unlisted || found?.upstreamId === `${name}:latest`) return [];
      return [{ setting: `models.${model}.endpoints[${index}]`, name, provider }];
    }),
  );
}

/** Names at a provider by which endpoints may call its models. */
function namesOf(provider: string, models: readonly CatalogModel[]): ReadonlySet<string> {
  const prefix = `${provider}/`;
  return new Set(
    models.flatMap(({ upstreamId, id, canonicalSlug }) => [
      upstreamId,
      ...[id, canonicalSlug].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)),
    ]),
  );
}

function isUnknown(models: ModelDirectory, asked: string): boolean {
  const { catalog, routes, providers, slugs } = models;
  const name = catalog().resolveAlias(asked);
  if (routes.models.has(name) || catalog().find(name) !== undefined) return false;
  const slash = name.indexOf('/');
  const provider = slash > 0 ? name.slice(0, slash) : undefined;
  if (provider === undefined) {
    const areReached = [...providers.values()].every(({ problem }) => problem === undefined);
    return areReached && models.waitingProviderOf?.(name) === undefined;
  }
  const active = providers.get(provider);
  return active === undefined ? !slugs.has(provider) : active.problem === undefined;
}
