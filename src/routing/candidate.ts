/** One place a request could go to, as far as choosing needs to know it. */

import { shift } from '../catalog/decimal.ts';
import type { Pricing } from '../core/model.ts';
import type { PriceName, Selector } from './policy.ts';

/** What the operator knows of an endpoint; what is unknown satisfies no demand. */
export interface EndpointFacts {
  zdr?: boolean;
  training?: boolean;
  distillable?: boolean;
  quantization?: string;
}

export interface Candidate {
  /** Tells it from all others, its credential included; for the gateway's own memory, never for clients. */
  id: string;
  /** The gateway's name for the model. */
  model: string;
  /** Where the model stands among those that the request may use, from 0. */
  rank: number;
  provider: string;
  /** The type of the provider. */
  type: string;
  upstreamModel: string;
  /** Counts from 1 where the provider has several. */
  credential?: number;
  pricing: Pricing;
  /** Those with a lower number are used first. */
  priority: number;
  /** Its share of the requests of its priority; absent leaves it to the price. */
  weight?: number;
  /** How many credentials share the weight. */
  siblings: number;
  facts: EndpointFacts;
  /** Why it cannot be used, whatever the request wants. */
  unusable?: string;
}

/** As answers and traces name it. */
export function endpointName({ provider, upstreamModel }: Pick<Candidate, 'provider' | 'upstreamModel'>): string {
  return `${provider}/${upstreamModel}`;
}

/** The candidates that a selector means. */
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

/** USD per million tokens; `request` and `image` per piece. Undefined when it is not known. */
export function priceOf({ pricing }: Pick<Candidate, 'pricing'>, name: PriceName): number | undefined {
  const perPiece = name === 'request' || name === 'image';
  const price = pricing[name];
  if (price === undefined) return name === 'prompt' || name === 'completion' ? undefined : 0;
  return Number(shift(price, perPiece ? 0 : 6));
}

/** What a million tokens each way cost, in USD. */
export function totalPrice(candidate: Pick<Candidate, 'pricing'>): number | undefined {
  const prompt = priceOf(candidate, 'prompt');
  const completion = priceOf(candidate, 'completion');
  return prompt === undefined || completion === undefined ? undefined : prompt + completion;
}
