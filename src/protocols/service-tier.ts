/** Names of service tiers in bodies, and in OpenAI's protocols. */

import type { Json } from '../core/json/json.ts';
import { STANDARD_TIERS } from '../core/standard-tier.ts';

/** Name of a tier that a body asks for. A value of a wrong type, which some server may read, is a tier that nobody knows. */
export function tierName(tier: Json): string | undefined {
  if (tier === undefined || tier === null) return undefined;
  return typeof tier === 'string' ? tier : typeof tier;
}

/** That a body asks for: `fast` is another name of `priority` here. The body may have wrong types. */
export function tierOf({ service_tier: tier }: Json): string | undefined {
  return tier === 'fast' ? 'priority' : tierName(tier);
}

/** Anthropic's prices of inference in the United States, which costs more in the standard tier and in fast mode. */
export const IN_US = 'us';
export const FAST_IN_US = 'fast-us';

/** The tier by whose prices a request of the messages protocol is charged, from what it asks for or what its usage reports. */
export function messagesTier(tier: string | undefined, speed: Json, geography: Json): string | undefined {
  const isInUs = geography === 'us';
  if (speed === 'fast') return isInUs ? FAST_IN_US : 'fast';
  // Capacity in another tier was bought in advance.
  return isInUs && (tier === undefined || STANDARD_TIERS.has(tier)) ? IN_US : tier;
}

/** The other protocols' `standard` is `default` here, and their fast mode `priority`, wherever the inference is. */
export function encodeServedTier(tier: string): string {
  if (tier === 'standard' || tier === IN_US) return 'default';
  return tier === 'fast' || tier === FAST_IN_US ? 'priority' : tier;
}
