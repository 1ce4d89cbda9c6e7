/** Cost of an answer as its upstream reports it. */

import { isObject, type Json } from '../core/json/json.ts';

const TICKS_PER_USD = 1e10;

/**
 * Reported cost in USD: a number (OpenRouter, which charges a fee if the vendor bills the operator's own key), the
 * total of an object (Perplexity), or ticks (xAI).
 */
export function reportedCost({ cost, cost_details, is_byok, cost_in_usd_ticks: ticks }: Json): number | undefined {
  const total = isObject(cost) ? cost.total_cost : cost;
  if (isAmount(total)) {
    const vendor = cost_details?.upstream_inference_cost;
    return is_byok === true && isAmount(vendor) ? total + vendor : total;
  }
  return isAmount(ticks) ? ticks / TICKS_PER_USD : undefined;
}

function isAmount(value: Json): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
