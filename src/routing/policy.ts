/** Routing policy: which endpoints a request may use and in what order, independent of the dialect. */

import type { Json } from '../core/json/json.ts';

/** Sort keys of endpoints. */
export type SortKey = 'price' | 'latency' | 'throughput';

export const PERCENTILES = ['p50', 'p75', 'p90', 'p99'] as const;
export type Percentile = (typeof PERCENTILES)[number];
/** A bound for each named percentile. */
export type PercentileLimits = Partial<Record<Percentile, number>>;

export const PRICES = ['prompt', 'completion', 'request', 'image', 'audio'] as const;
export type PriceName = (typeof PRICES)[number];

/** Providers, or endpoints of them, as a request names them: `anthropic`, `anthropic/claude-sonnet-4-6`, `together/fp8`. */
export interface Selector {
  /** Selector as written in the request, for messages. */
  text: string;
  /** The id of a provider or of a type of provider. */
  provider: string;
  /** An upstream model or a quantization; if neither matches, the whole provider is selected. */
  variant?: string;
}

/** Data policy requirements; only endpoints known to satisfy them are used. */
export interface DataDemands {
  /** Zero data retention. */
  zdr?: boolean;
  /** No training on requests. */
  noTraining?: boolean;
  /** Output may be used to train other models. */
  distillable?: boolean;
}

export interface RoutingPolicy {
  /** Tried first, in this order. */
  order: Selector[];
  /** Only these are tried. */
  only?: Selector[];
  ignore: Selector[];
  /** If false, only one attempt is made, at the best endpoint. */
  allowFallbacks: boolean;
  sort?: SortKey;
  /** Sort the endpoints of all models as one list instead of model by model. */
  acrossModels: boolean;
  /** Exclude endpoints that would have to drop a field. */
  requireParameters: boolean;
  /** USD per million tokens, but `request` and `image` per piece. */
  maxPrice: Partial<Record<PriceName, number>>;
  /** Seconds to the first byte; slower endpoints rank lower. */
  preferredLatency?: PercentileLimits;
  /** Output tokens per second; slower endpoints rank lower. */
  preferredThroughput?: PercentileLimits;
  /** Models to try after the requested one; absent selects those of the configuration. */
  fallbackModels?: string[];
  /** The only provider. */
  pin?: Selector;
  /** Extra body fields by provider. */
  options: Record<string, Record<string, Json>>;
  quantizations?: string[];
  dataPolicy: DataDemands;
}

export const NO_POLICY: RoutingPolicy = {
  order: [],
  ignore: [],
  allowFallbacks: true,
  acrossModels: false,
  requireParameters: false,
  maxPrice: {},
  options: {},
  dataPolicy: {},
};
