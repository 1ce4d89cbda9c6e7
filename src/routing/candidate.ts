/** Candidate: an endpoint under consideration for a request. */

import { shiftDecimal } from '../catalog/decimal.ts';
import type { Pricing } from '../core/model.ts';
import type { PriceName, Selector, SortKey } from './policy.ts';

/** Known properties of an endpoint; an unknown one satisfies no requirement. */
export interface EndpointFacts {
  zdr?: boolean;
  training?: boolean;
  distillable?: boolean;
  quantization?: string;
}

export interface Candidate {
  /** Unique id including the credential; internal, never shown to clients. */
  id: string;
  /** The gateway's name for the model. */
  model: string;
  /** Index of the model among the requested model and its fallbacks. */
  rank: number;
  provider: string;
  /** The type of the provider. */
  type: string;
  upstreamModel: string;
  /** Number of the credential, from 1; absent if the provider has only one. */
  credential?: number;
  pricing: Pricing;
  /** Lower numbers are tried first. */
  priority: number;
  /** Share of the conversations of its priority; absent derives it from the price. */
  weight?: number;
  /** Number of credentials that share the weight. */
  siblings: number;
  facts: EndpointFacts;
  /** By the suffix of a fallback model; instead of that of the policy among the endpoints of this model. */
  sort?: SortKey;
  /** Reason for which it cannot be used for any request. */
  unusable?: string;
}

/** Public name of the endpoint, in responses and traces. */
export function endpointName({ provider, upstreamModel }: Pick<Candidate, 'provider' | 'upstreamModel'>): string {
  return `${provider}/${upstreamModel}`;
}

/** The candidates that match a selector. */
export function selected<Any extends Candidate>(selector: Selector, candidates: readonly Any[]): Any[] {
  const ofProvider = candidates.filter(
    ({ provider, type }) => provider === selector.provider || type === selector.provider,
  );
  const { variant } = selector;
  const exact = ofProvider.filter(
    ({ upstreamModel, facts }) => upstreamModel === variant || facts.quantization === variant,
  );
  return variant !== undefined && exact.length > 0 ? exact : ofProvider;
}

/** USD per million tokens, or per piece for `request` and `image`; undefined if unknown. */
export function priceOf({ pricing }: Pick<Candidate, 'pricing'>, name: PriceName): number | undefined {
  const perPiece = name === 'request' || name === 'image';
  const price = pricing[name];
  if (price === undefined) return name === 'prompt' || name === 'completion' ? undefined : 0;
  return Number(shiftDecimal(price, perPiece ? 0 : 6));
}

/** Sums by prices, which are not changed: requests for a model share them. */
const totals = new WeakMap<Pricing, number | undefined>();

/** USD for a million input and a million output tokens. */
export function totalPrice({ pricing }: Pick<Candidate, 'pricing'>): number | undefined {
  if (totals.has(pricing)) return totals.get(pricing);
  const prompt = priceOf({ pricing }, 'prompt');
  const completion = priceOf({ pricing }, 'completion');
  const total = prompt === undefined || completion === undefined ? undefined : prompt + completion;
  totals.set(pricing, total);
  return total;
}
