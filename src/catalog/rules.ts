/**
 * Model rules by id, from `rules.json`. All entries whose globs match an id are merged, the last one wins. An id without a
 * match has no rules, which means those of the newest models.
 */

import { readFileSync } from 'node:fs';
import { matchesGlob } from '../core/glob.ts';
import type { Modality, ModelRules, PriceFactors, Pricing, ServiceTier } from '../core/model.ts';
import { lookUp } from '../core/plain-objects.ts';

interface ProviderRules {
  /** Globs of ids that are not available for chat: other endpoints, other kinds of output. */
  unreachable?: string[];
  rules?: { models: string[]; rules: ModelRules }[];
  /** Price factors of service tiers by globs of ids; of all matching ones the last counts, tier by tier. */
  serviceTiers?: { models: string[]; tiers: Record<string, PriceFactors> }[];
  /** Prices of tools that the provider runs, by globs of ids: the last matching one counts. */
  toolPrices?: { models: string[]; price: Pricing }[];
  /** Input modalities that the server accepts for all models, e.g. by converting documents to text. */
  reads?: Modality[];
}

let cachedRules: Record<string, ProviderRules> | undefined;

function providerRules(provider: string): ProviderRules {
  cachedRules ??= JSON.parse(readFileSync(new URL('./rules.json', import.meta.url), 'utf8')) as Record<
    string,
    ProviderRules
  >;
  return lookUp(cachedRules, provider) ?? {};
}

/** `id` is the upstream id, without the provider. Returns a new object. */
export function rulesFor(provider: string, id: string): ModelRules {
  const entries = providerRules(provider).rules ?? [];
  return Object.assign({}, ...entries.filter(({ models }) => matchesAny(models, id)).map(({ rules }) => rules));
}

/** Undefined for a provider that is not known to have service tiers. */
export function serviceTiersFor(provider: string, id: string): Record<string, ServiceTier> | undefined {
  const { serviceTiers } = providerRules(provider);
  if (!serviceTiers) return undefined;
  const matching = serviceTiers
    .filter(({ models }) => matchesAny(models, id))
    .flatMap(({ tiers }) => Object.entries(tiers));
  return Object.fromEntries(matching.map(([name, factors]) => [name, { factors }]));
}

/** Undefined for a provider that is not known to bill its tools. */
export function toolPricesFor(provider: string, id: string): Pricing | undefined {
  return providerRules(provider).toolPrices?.findLast(({ models }) => matchesAny(models, id))?.price;
}

/** The modalities that the provider's server accepts for every model. */
export function readByServer(provider: string): readonly Modality[] {
  return providerRules(provider).reads ?? [];
}

/** Whether a model id is available for chat, as far as its name tells. */
export function isReachable(provider: string, id: string): boolean {
  return !matchesAny(providerRules(provider).unreachable ?? [], id);
}

function matchesAny(globs: readonly string[], id: string): boolean {
  return globs.some((glob) => matchesGlob(glob, id));
}
