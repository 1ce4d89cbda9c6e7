/** Requested output and service tier of a messages body; includes thinking and web searches. */

import type { Json } from '../../core/json/json.ts';
import { largestFigure, type RequestedOutput } from '../../core/output.ts';
import { tierName } from '../service-tier.ts';
import { isWebSearch } from './tool-decoder.ts';

const MIN_BUDGET_TOKENS = 1024;

export function outputOf({ max_tokens, tools }: Json): RequestedOutput {
  const limit = largestFigure([max_tokens]);
  const searches = searchesOf(Array.isArray(tools) ? tools.filter(isWebSearch) : []);
  return {
    ...(limit !== undefined && { limit }),
    ...(searches !== undefined && { searches }),
    answers: 1,
    thinking: 0,
  };
}

/** Undefined unless each of the tools has a limit. */
function searchesOf(tools: readonly Json[]): number | undefined {
  const limits = tools.flatMap(({ max_uses }) => largestFigure([max_uses]) ?? []);
  return tools.length === 0 || limits.length < tools.length ? undefined : limits.reduce((sum, one) => sum + one, 0);
}

/** Fast mode, whose price is that of no service tier, else the service tier. */
export function tierOf({ speed, service_tier: tier }: Json): string | undefined {
  return speed === 'fast' ? 'fast' : tierName(tier);
}

export function limitOutput(body: Json, tokens: number): void {
  body.max_tokens = tokens;
  const budget = body.thinking?.budget_tokens;
  if (typeof budget !== 'number' || budget < tokens) return;
  if (tokens > MIN_BUDGET_TOKENS) body.thinking = { ...body.thinking, budget_tokens: tokens - 1 };
  else delete body.thinking;
}
