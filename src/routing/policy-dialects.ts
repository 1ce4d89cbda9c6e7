/** Parser of the `provider` object in the dialects of OpenRouter, Ofox (both generations) and ZenMux. */

import { GatewayError } from '../core/errors.ts';
import { problems } from '../core/json/check.ts';
import type { Json } from '../core/json/json.ts';
import { merged } from '../core/json/merge.ts';
import type { PercentileLimits, PriceName, RoutingPolicy, Selector, SortKey } from './policy.ts';
import { providerSchema } from './policy-schema.ts';
import type { ProviderSlugs } from './slugs.ts';

/** Sort key of `routing` and `primary_factor`; other values keep the order by priority and weight. */
const SORT_FACTORS: Record<string, SortKey> = {
  cost: 'price',
  price: 'price',
  latency: 'latency',
  speed: 'latency',
  least_latency: 'latency',
  throughput: 'throughput',
};

export interface PolicyInput {
  /** The `provider` object as received. */
  provider: Json;
  /** Origin of the object, for errors: `provider` or the name of a header. */
  at: string;
  slugs: ProviderSlugs;
}

/** Throws `invalid_request` naming the invalid field and the allowed values. */
export function policyOf({ provider, at, slugs }: PolicyInput): RoutingPolicy {
  check(provider, at);
  const given: Json = Object.fromEntries(Object.entries(provider).filter(([, value]) => value !== null));
  const selectors = (names: string[] | undefined, path: string): Selector[] =>
    (names ?? []).map((name, index) => slugs.selector(name, `${at}.${path}[${index}]`));
  const routing = routingOf(given, (names) => selectors(names, 'routing.providers'));
  const fallback = fallbackOf(given.fallback, at, slugs);
  const order = [...selectors(given.order, 'order'), ...(routing.order ?? [])];
  const sort = sortOf(typeof given.sort === 'string' ? given.sort : given.sort?.by);
  return {
    order: [...order, ...fallback.providers],
    only: given.only ? selectors(given.only, 'only') : routing.only,
    ignore: selectors(given.ignore, 'ignore'),
    allowFallbacks: given.allow_fallbacks ?? fallback.allowed,
    sort: sort ?? routing.sort,
    acrossModels: given.sort?.partition === 'none',
    requireParameters: given.require_parameters ?? false,
    maxPrice: pricesOf(given.max_price),
    preferredLatency: boundsOf(given.preferred_max_latency),
    preferredThroughput: boundsOf(given.preferred_min_throughput),
    fallbackModels: given.models ?? fallback.models,
    pin: given.type === undefined ? undefined : slugs.selector(given.type, `${at}.type`),
    options: optionsOf(given.options, at, slugs),
    quantizations: given.quantizations,
    dataPolicy: {
      zdr: given.zdr,
      noTraining: given.data_collection === 'deny' || undefined,
      distillable: given.enforce_distillable_text,
    },
  };
}

/** OpenRouter's `exacto` ranks by quality; of its criteria, only throughput is measured here. */
function sortOf(name: SortKey | 'exacto' | undefined): SortKey | undefined {
  return name === 'exacto' ? 'throughput' : name;
}

function check(provider: Json, at: string): void {
  // Without nulls, which clients send for fields that they do not set, under names of other gateways too.
  const [first] = problems(providerSchema, merged({}, provider));
  if (!first) return;
  const param = first.path === '' ? at : first.path.startsWith('[') ? at + first.path : `${at}.${first.path}`;
  const allowed = first.allowed ? `; allowed: ${first.allowed.join(', ')}` : '';
  throw new GatewayError('invalid_request', `${param} ${first.message}${allowed}.`, { param });
}

function routingOf(
  { routing }: Json,
  selectors: (names: string[] | undefined) => Selector[],
): Pick<Partial<RoutingPolicy>, 'order' | 'only' | 'sort'> {
  if (routing === undefined) return {};
  if (typeof routing === 'string') return { sort: SORT_FACTORS[routing] };
  const providers = routing.providers ? selectors(routing.providers) : undefined;
  const sort = SORT_FACTORS[routing.primary_factor ?? routing.type];
  // With a sort key the list is a set to choose from, else it is an order.
  const pool = sort !== undefined || routing.type === 'round_robin';
  return pool ? { only: providers, sort } : { order: providers };
}

interface Fallback {
  allowed: boolean;
  models?: string[];
  providers: Selector[];
}

/** A boolean (or its text), a list of models, or the name of a model or provider. */
function fallbackOf(fallback: Json, at: string, slugs: ProviderSlugs): Fallback {
  if (fallback === undefined) return { allowed: true, providers: [] };
  if (Array.isArray(fallback)) return { allowed: true, models: fallback, providers: [] };
  const text = String(fallback);
  if (text === 'true' || text === 'false') return { allowed: text === 'true', providers: [] };
  if (slugs.providerOf(text) !== undefined)
    return { allowed: true, providers: [slugs.selector(text, `${at}.fallback`)] };
  return { allowed: true, models: [text], providers: [] };
}

function pricesOf(prices: Record<string, Json> | undefined): RoutingPolicy['maxPrice'] {
  const given = Object.entries(prices ?? {}).filter(([, price]) => price !== null);
  return Object.fromEntries(given.map(([name, price]): [PriceName, number] => [name as PriceName, Number(price)]));
}

function boundsOf(bounds: Json): PercentileLimits | undefined {
  return typeof bounds === 'number' ? { p50: bounds } : bounds;
}

function optionsOf(
  options: Record<string, Json> | undefined,
  at: string,
  slugs: ProviderSlugs,
): RoutingPolicy['options'] {
  const blocks = Object.entries(options ?? {}).filter(([, block]) => block !== null);
  return Object.fromEntries(
    blocks.map(([name, block]) => [slugs.selector(name, `${at}.options.${name}`).provider, block]),
  );
}
