/** Exclusion of candidates by the routing policy, with readable reasons. */

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
  const ignored = meant(policy.ignore);

  return (candidate) => {
    if (candidate.unusable) return candidate.unusable;
    if (pinned && !pinned.has(candidate)) return `the request is pinned to ${pin.text}`;
    if (allowed && !allowed.has(candidate)) return 'it is not in only';
    if (ordered && !ordered.has(candidate)) return 'it is not in order, and fallbacks are not allowed';
    if (ignored.has(candidate)) return 'it is in ignore';
    return priceReason(candidate, policy) ?? dataPolicyReason(candidate, policy);
  };
}

function priceReason(candidate: Candidate, { maxPrice }: RoutingPolicy): string | undefined {
  for (const [name, most] of Object.entries(maxPrice) as [PriceName, number][]) {
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
