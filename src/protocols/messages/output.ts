/** How much output a messages body asks for; thinking is a part of it. */

import type { Json } from '../../core/json/json.ts';
import { type AskedOutput, largestFigure } from '../../core/output.ts';

const SMALLEST_BUDGET = 1024;

export function outputOf({ max_tokens }: Json): AskedOutput {
  const limit = largestFigure([max_tokens]);
  return { ...(limit !== undefined && { limit }), answers: 1, thinking: 0 };
}

export function limitOutput(body: Json, tokens: number): void {
  body.max_tokens = tokens;
  const budget = body.thinking?.budget_tokens;
  if (typeof budget !== 'number' || budget < tokens) return;
  if (tokens > SMALLEST_BUDGET) body.thinking = { ...body.thinking, budget_tokens: tokens - 1 };
  else delete body.thinking;
}
