/** Which endpoints a request may use and in what order, whatever spelling it came in. */

import type { Json } from '../core/json/json.ts';

/** What endpoints can be sorted by. */
export type SortKey = 'price' | 'latency' | 'throughput';

export const PERCENTILES = ['p50', 'p75', 'p90', 'p99'] as const;
export type Percentile = (typeof PERCENTILES)[number];
/** A bound for each named percentile. */
export type PercentileLimits = Partial<Record<Percentile, number>>;

export const PRICES = ['prompt', 'completion', 'request', 'image', 'audio'] as const;
export type PriceName = (typeof PRICES)[number];

/** Providers, or endpoints of them, as a request names them: `anthropic`, `anthropic/claude-sonnet-4-6`, `together/fp8`. */
export interface Selector {
  /** What the request says, for messages. */
  text: string;
  /** The id of a provider or of a type of provider. */
  provider: string;
  /** An upstream model or a quantization; where it is neither, the whole provider is meant. */
  variant?: string;
}

/** What a request demands to be done with its data; only endpoints that are known to do so satisfy it. */
export interface DataDemands {
  /** Nothing is kept. */
  zdr?: boolean;
  /** Nothing is trained on. */
  noTraining?: boolean;
  /** Its text may be used to train other models. */
  distillable?: boolean;
}

export interface RoutingPolicy {
  /** Tried first, in this order. */
  order: Selector[];
  /** Nothing else is tried. */
  only?: Selector[];
  ignore: Selector[];
  /** False: one attempt at the best endpoint. */
  allowFallbacks: boolean;
  sort?: SortKey;
  /** Endpoints of all models are sorted as one list instead of model by model. */
  acrossModels: boolean;
  /** Endpoints that would have to leave out a field are not used. */
  requireParameters: boolean;
  /** USD per million tokens, but `request` and `image` per piece. */
  maxPrice: Partial<Record<PriceName, number>>;
  /** Seconds to the first byte; slower endpoints come later. */
  preferredLatency?: PercentileLimits;
  /** Output tokens a second; slower endpoints come later. */
  preferredThroughput?: PercentileLimits;
  /** Models to try after the one that was asked for. Absent leaves it to the configuration. */
  fallbackModels?: string[];
  /** The only provider. */
  pin?: Selector;
  /** By provider: members added to the body that this provider gets. */
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
