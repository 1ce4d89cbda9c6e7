/** Requested output of a Responses body; includes reasoning and web searches. */

import type { Json } from '../../core/json/json.ts';
import { largestFigure, type ProviderTools, type RequestedOutput } from '../../core/output.ts';
import { lookUp } from '../../core/plain-objects.ts';

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

/** Of the tools, and those that an item of the input adds. */
export function providerTools({ tools, input }: Json): ProviderTools {
  const items: Json[] = Array.isArray(input) ? input : [];
  const all: Json[] = [tools, ...items.map((item) => item?.tools)].flatMap((some) => (Array.isArray(some) ? some : []));
  const has = (type: string): boolean => all.some((tool) => tool?.type === type);
  return {
    images: has('image_generation'),
    files: has('file_search'),
    containers: all.reduce<number>((sum, tool) => sum + gigabytesOf(tool), 0),
  };
}

/** The most memory of a container that a tool asks for, in gigabytes; 1 by default. */
export function containerSizeOf({ tools, input }: Json): number {
  let size = largestOf(tools);
  if (Array.isArray(input)) for (const item of input) if (item?.tools) size = Math.max(size, largestOf(item.tools));
  return size;
}

function largestOf(tools: Json): number {
  return Array.isArray(tools) ? tools.reduce<number>((most, tool) => Math.max(most, gigabytesOf(tool)), 1) : 1;
}

const GIGABYTES: Record<string, number> = { '1g': 1, '4g': 4, '16g': 16, '64g': 64 };

/** 0 for a tool without a container; the memory of one that is named by its id is not known, and counts as the least. */
function gigabytesOf(tool: Json): number {
  const place = tool?.type === 'shell' ? tool.environment : tool?.type === 'code_interpreter' && (tool.container ?? {});
  if (!place || place.type === 'local') return 0;
  return lookUp(GIGABYTES, place.memory_limit) ?? 1;
}

/** Lowers the limits of a body in place; sets one if it has none. */
export function limitOutput(body: Json, tokens: number): void {
  const given = LIMIT_MEMBERS.filter((name) => (body[name] ?? null) !== null);
  for (const name of given) if ((largestFigure([body[name]]) ?? tokens + 1) > tokens) body[name] = tokens;
  if (given.length === 0) body.max_output_tokens = tokens;
}
