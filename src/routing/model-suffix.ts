/** Wishes in the name of a model: `:floor`, `:nitro`, `:exacto`, and `:<provider>`. */

import type { RoutingPolicy } from './policy.ts';
import type { ProviderSlugs } from './slugs.ts';

const SUFFIXES: Record<string, Partial<RoutingPolicy>> = {
  floor: { sort: 'price' },
  nitro: { sort: 'throughput' },
  exacto: { sort: 'throughput' },
};

export interface NamedModel {
  name: string;
  /** What the suffix wishes; stands above the rest of the policy. */
  overrides: Partial<RoutingPolicy>;
}

/** A name that is known as it stands has no suffix, and neither has one whose end means nothing. */
export function splitModelName(text: string, isKnown: (name: string) => boolean, slugs: ProviderSlugs): NamedModel {
  const colon = text.lastIndexOf(':');
  if (colon <= 0 || isKnown(text)) return { name: text, overrides: {} };
  const suffix = text.slice(colon + 1);
  const name = text.slice(0, colon);
  const overrides = Object.hasOwn(SUFFIXES, suffix) ? SUFFIXES[suffix] : undefined;
  if (overrides) return { name, overrides };
  if (slugs.providerOf(suffix) !== undefined) return { name, overrides: { pin: slugs.selector(suffix, 'model') } };
  return { name: text, overrides: {} };
}
