/** Policy of a request, from the form in which its trace has it to that in which requests write it. */

import type { RequestDetail } from './query.ts';

type Stored = NonNullable<NonNullable<RequestDetail['trace']>['policy']>;

export interface WrittenPolicy {
  /** The object `provider` of a request; empty for the default policy. */
  provider: Record<string, unknown>;
  /** Providers whose own fields were added to the body; their values are not kept. */
  options: string[];
}

/** Fields that have the default value are left out. */
export function writtenPolicy(stored: Stored | null): WrittenPolicy {
  const policy = stored ?? {};
  const { zdr, noTraining, distillable } = objectOf(policy.dataPolicy);
  const sort = policy.sort === undefined ? undefined : String(policy.sort);
  const provider = {
    order: names(policy.order),
    only: names(policy.only),
    ignore: names(policy.ignore),
    type: names([policy.pin])?.[0],
    models: names(policy.fallbackModels),
    quantizations: names(policy.quantizations),
    allow_fallbacks: policy.allowFallbacks === false ? false : undefined,
    require_parameters: policy.requireParameters === true ? true : undefined,
    sort: sort !== undefined && policy.acrossModels === true ? { by: sort, partition: 'none' } : sort,
    max_price: filled(policy.maxPrice),
    preferred_max_latency: filled(policy.preferredLatency),
    preferred_min_throughput: filled(policy.preferredThroughput),
    zdr,
    data_collection: noTraining === true ? 'deny' : undefined,
    enforce_distillable_text: distillable,
  };
  return {
    provider: Object.fromEntries(Object.entries(provider).filter(([, value]) => value !== undefined)),
    options: names(policy.options) ?? [],
  };
}

/** Of names, or of providers with the text that names them; undefined without any. */
function names(list: unknown): string[] | undefined {
  const given = (Array.isArray(list) ? list : []).filter((one) => one !== undefined && one !== null);
  const texts = given.map((one) => (typeof one === 'object' && 'text' in one ? String(one.text) : String(one)));
  return texts.length === 0 ? undefined : texts;
}

function filled(value: unknown): object | undefined {
  const object = objectOf(value);
  return Object.keys(object).length === 0 ? undefined : object;
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
