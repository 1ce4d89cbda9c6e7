/** Names of service tiers in bodies, and in OpenAI's protocols. */

import type { ChatRequest } from '../core/chat.ts';
import type { Json } from '../core/json/json.ts';
import { isRegional } from '../core/tier-names.ts';

/** Name of a tier that a body asks for. A value of a wrong type, which some server may read, is a tier that nobody knows, as is a name that the gateway makes itself. */
export function tierName(tier: Json): string | undefined {
  if (tier === undefined || tier === null) return undefined;
  return typeof tier === 'string' && !isRegional(tier) ? tier : typeof tier;
}

/** Tier that a body asks for; `fast` is read as `priority`. The body may have wrong types. */
export function tierOf({ service_tier: tier }: Json): string | undefined {
  return tier === 'fast' ? 'priority' : tierName(tier);
}

/** Tier of a body of one of OpenAI's protocols, in the hub; undefined for one that is not known. */
export function decodeTier(tier: Json): ChatRequest['tier'] {
  switch (tier) {
    case 'auto':
    case 'default':
    case 'flex':
    case 'priority':
    case 'ultrafast':
      return tier;
    case 'fast':
      return 'priority';
    default:
      return undefined;
  }
}

/** The other protocols' `standard` is `default` here, and their fast mode `priority`. */
export function encodeServedTier(tier: string): string {
  if (tier === 'standard') return 'default';
  return tier === 'fast' ? 'priority' : tier;
}
