/** Model name suffixes: `:floor`, `:nitro`, `:exacto` and `:<provider>`. */

import type { RoutingPolicy } from './policy.ts';
import type { ProviderSlugs } from './slugs.ts';

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
