/** Service tiers by their names in OpenAI's protocols. */

import type { Json } from '../core/json/json.ts';

/** That a body asks for: `fast` is another name of `priority` here. The body may have wrong types. */
export function tierOf({ service_tier: tier }: Json): string | undefined {
  if (tier === undefined || tier === null) return undefined;
  return tier === 'fast' ? 'priority' : String(tier);
}

/** The other protocols' `standard` is `default` here, and their fast mode `priority`. */
export function encodeServedTier(tier: string): string {
  if (tier === 'standard') return 'default';
  return tier === 'fast' ? 'priority' : tier;
}
