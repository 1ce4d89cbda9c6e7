/** Requested output and service tier of a messages body; includes thinking. */

import type { Json } from '../../core/json/json.ts';
import { largestFigure, type RequestedOutput } from '../../core/output.ts';

const MIN_BUDGET_TOKENS = 1024;

export function outputOf({ max_tokens }: Json): RequestedOutput {
  const limit = largestFigure([max_tokens]);
  return { ...(limit !== undefined && { limit }), answers: 1, thinking: 0 };
}

/** Fast mode, whose price is that of no service tier, else the service tier. */
export function tierOf({ speed, service_tier: tier }: Json): string | undefined {
  if (speed === 'fast') return 'fast';
  return tier === undefined || tier === null ? undefined : String(tier);
}

export function limitOutput(body: Json, tokens: number): void {
  body.max_tokens = tokens;
  const budget = body.thinking?.budget_tokens;
  if (typeof budget !== 'number' || budget < tokens) return;
  if (tokens > MIN_BUDGET_TOKENS) body.thinking = { ...body.thinking, budget_tokens: tokens - 1 };
  else delete body.thinking;
}
