/** Requested output of a Responses body; includes reasoning and web searches. */

import type { Json } from '../../core/json/json.ts';
import { largestFigure, type RequestedOutput } from '../../core/output.ts';

/** Output tokens; some servers hand a request on to their chat completions, with the names of that. */
export const LIMIT_MEMBERS = [
  'max_output_tokens',
  'max_completion_tokens',
  'max_tokens',
  'n_predict',
  'num_predict',
] as const;

/** The least that OpenAI accepts. */
export const MIN_OUTPUT_TOKENS = 16;

/** Number of answers on such servers. */
export const COUNT_MEMBERS = ['n', 'best_of'] as const;

export function outputOf(body: Json): RequestedOutput {
  const limit = largestFigure(LIMIT_MEMBERS.map((name) => body[name]));
  const searches = largestFigure([body.max_tool_calls]);
  return {
    ...(limit !== undefined && { limit }),
    ...(searches !== undefined && { searches }),
    answers: Math.max(1, largestFigure(COUNT_MEMBERS.map((name) => body[name])) ?? 1),
    thinking: 0,
  };
}

/** Whether the tools, or those that an item of the input adds, make images. */
export function makesImages({ tools, input }: Json): boolean {
  const items: Json[] = Array.isArray(input) ? input : [];
  return [tools, ...items.map((item) => item?.tools)].some(
    (some) => Array.isArray(some) && some.some((tool) => tool?.type === 'image_generation'),
  );
}

/** Lowers the limits of a body in place; sets one if it has none. */
export function limitOutput(body: Json, tokens: number): void {
  const given = LIMIT_MEMBERS.filter((name) => (body[name] ?? null) !== null);
  for (const name of given) if ((largestFigure([body[name]]) ?? tokens + 1) > tokens) body[name] = tokens;
  if (given.length === 0) body.max_output_tokens = tokens;
}
