/** Requested output of a chat completions body, at OpenAI and at servers of open models. */

import { isObject, type Json } from '../../core/json/json.ts';
import type { ModelRules } from '../../core/model.ts';
import { largestFigure, type RequestedOutput } from '../../core/output.ts';
import { COUNT_MEMBERS, LIMIT_MEMBERS, THINKING_MEMBERS } from './output-members.ts';

export function outputOf(body: Json): RequestedOutput {
  const limit = largestFigure(LIMIT_MEMBERS.map((name) => body[name]));
  const inside: Json[] = [body.reasoning, body.thinking, body.chat_template_kwargs].filter(isObject);
  const thinking = [
    ...THINKING_MEMBERS.map((name) => body[name]),
    ...inside.flatMap(({ max_tokens, budget_tokens, thinking_budget }) => [max_tokens, budget_tokens, thinking_budget]),
  ];
  return {
    ...(limit !== undefined && { limit }),
    answers: Math.max(1, largestFigure(COUNT_MEMBERS.map((name) => body[name])) ?? 1),
    thinking: largestFigure(thinking) ?? 0,
  };
}

/** Lowers the limits of a body in place; sets one if it has none. */
export function limitOutput(body: Json, tokens: number, { tokenField = 'max_tokens' }: ModelRules): void {
  const given = LIMIT_MEMBERS.filter((name) => (body[name] ?? null) !== null);
  for (const name of given) if ((largestFigure([body[name]]) ?? tokens + 1) > tokens) body[name] = tokens;
  if (given.length === 0) body[tokenField] = tokens;
}
