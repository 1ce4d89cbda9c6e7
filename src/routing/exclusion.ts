/** Exclusion of candidates by the routing policy, with readable reasons. */

import { GatewayError } from '../core/errors.ts';
import { type Candidate, priceOf, selected } from './candidate.ts';
import type { PriceName, RoutingPolicy, Selector } from './policy.ts';

/** Returns the reason for the exclusion of a candidate, or undefined if it is allowed. */
export function createExclusion(
  policy: RoutingPolicy,
  candidates: readonly Candidate[],
): (candidate: Candidate) => string | undefined {
  const meant = (selectors: readonly Selector[]): Set<Candidate> =>
    new Set(selectors.flatMap((selector) => selected(selector, candidates)));
  const { pin, only, order, allowFallbacks } = policy;
  const pinned = pin && meant([pin]);
  const allowed = only && meant(only);
  const ordered = !allowFallbacks && order.length > 0 ? meant(order) : undefined;
  const ignored = policy.ignore.length > 0 ? meant(policy.ignore) : undefined;
  const maxPrices = Object.entries(policy.maxPrice) as [PriceName, number][];

  return (candidate) => {
    if (candidate.unusable) return candidate.unusable;
    if (pinned && !pinned.has(candidate)) return `the request is pinned to ${pin.text}`;
    if (allowed && !allowed.has(candidate)) return 'it is not in only';
    if (ordered && !ordered.has(candidate)) return 'it is not in order, and fallbacks are not allowed';
    if (ignored?.has(candidate)) return 'it is in ignore';
    return priceReason(candidate, maxPrices) ?? dataPolicyReason(candidate, policy);
  };
}

function priceReason(candidate: Candidate, maxPrices: readonly [PriceName, number][]): string | undefined {
  for (const [name, most] of maxPrices) {
    const price = priceOf(candidate, name);
    if (price === undefined) return `its price is not known, and max_price.${name} is ${most}`;
    if (price > most) return `it costs ${price}, and max_price.${name} is ${most}`;
  }
  return undefined;
}

/** Unknown properties count as not satisfied. */
function dataPolicyReason({ facts }: Candidate, { dataPolicy, quantizations }: RoutingPolicy): string | undefined {
  if (dataPolicy.zdr && !facts.zdr) return 'it is not known to keep nothing (zdr)';
  if (dataPolicy.noTraining && facts.training !== false)
    return 'it is not known not to train on data (data_collection)';
  if (dataPolicy.distillable && !facts.distillable)
    return 'its text is not known to be free for training (enforce_distillable_text)';
  if (!quantizations || (facts.quantization !== undefined && quantizations.includes(facts.quantization)))
    return undefined;
  return `its quantization is ${facts.quantization ?? 'not known'}, not one of ${quantizations.join(', ')}`;
}

/** Throws `invalid_request` where the only provider of a request has no endpoint of the model. */
export function checkPin({ pin }: RoutingPolicy, candidates: readonly Candidate[], model: string): void {
  if (pin && selected(pin, candidates).length === 0)
    throw notServed(pin, candidates, { model, param: 'provider.type' });
}

/** The candidates of a model whose name may have a provider as its suffix; throws `invalid_request` where that has none of them. */
export function pinnedTo<Any extends Candidate>(
  pin: Selector | undefined,
  candidates: readonly Any[],
  param: string,
): readonly Any[] {
  const [first] = candidates;
  if (!pin || !first) return candidates;
  const allowed = new Set(selected(pin, candidates));
  if (allowed.size === 0) throw notServed(pin, candidates, { model: first.model, param });
  const unusable = `its model is pinned to ${pin.text}`;
  return candidates.map((candidate) => (allowed.has(candidate) ? candidate : { ...candidate, unusable }));
}

function notServed(
  pin: Selector,
  candidates: readonly Candidate[],
  { model, param }: { model: string; param: string },
): GatewayError {
  const serving = [...new Set(candidates.map(({ provider }) => provider))].join(', ');
  const message = `${param}: "${pin.text}" does not serve the model "${model}"; it is served by: ${serving}.`;
  return new GatewayError('invalid_request', message, { param });
}
