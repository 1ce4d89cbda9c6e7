/** Token usage of the Responses protocol, whole and in the last event of a stream. */

import type { Usage } from '../../core/chat.ts';
import { isObject, type Json, type Member } from '../../core/json/json.ts';
import { count, record } from '../../core/json/shape.ts';
import type { CostOf } from '../../core/operation.ts';
import type { ShownUse } from '../../core/output.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { addToolUse } from '../../core/usage-bounds.ts';
import { reportedCost } from '../reported-cost.ts';
import { responseIn } from './facts.ts';

const counts = record({
  input_tokens: count,
  output_tokens: count,
  input_tokens_details: record({ cached_tokens: count, cache_write_tokens: count, audio_tokens: count }),
  output_tokens_details: record({ reasoning_tokens: count, audio_tokens: count }),
});

/** The counts in a body or event; undefined when it holds none. Cached tokens are part of the input, reasoning of the output. */
export function usageOf(body: Json): Partial<Usage> | undefined {
  const response = responseIn(body);
  const reported = response?.usage;
  const usage = isObject(reported) ? counts(reported) : undefined;
  if (typeof usage?.input_tokens !== 'number') return undefined;
  const { input_tokens: input, output_tokens: output = 0 } = usage;
  const inside = usage.input_tokens_details ?? {};
  const outside = usage.output_tokens_details ?? {};
  const used = toolUseOf(response);
  return defined({
    input,
    output,
    cached: inside.cached_tokens,
    cacheWrite: inside.cache_write_tokens,
    audioInput: inside.audio_tokens,
    reasoning: outside.reasoning_tokens,
    audioOutput: outside.audio_tokens,
    imageToolInput: used.imageToolInput || undefined,
    imageToolOutput: used.imageToolOutput || undefined,
    searches: used.searches || undefined,
    fileSearches: used.fileSearches || undefined,
    containers: used.containers || undefined,
    reportedCost: isObject(reported) ? reportedCost(reported) : undefined,
    tier: typeof response.service_tier === 'string' ? response.service_tier : undefined,
  });
}

/** What tools of the provider used, which `usage` has not. */
const toolShape = record({
  web_search: record({ num_requests: count }),
  image_gen: record({ input_tokens: count, output_tokens: count }),
});

/**
 * Use of tools in a response. Searches of the web are charged one by one; opened pages are not. The ones that the provider says it charges
 * come first. A count of zero beside tools that are used is none: the member is there with zeros where nothing was counted.
 */
function toolUseOf({ output, tool_usage }: Json): ShownUse & Pick<Usage, 'imageToolInput'> {
  const { web_search: web, image_gen: images } = toolShape(tool_usage) ?? {};
  const billed: number | undefined = web?.num_requests;
  let shown: ShownUse = {};
  let searches = 0;
  for (const item of Array.isArray(output) ? output : []) {
    if (isSearch(item)) searches++;
    const use = usedBy(item);
    if (use) shown = addToolUse(shown, use);
  }
  return {
    ...shown,
    searches: billed || (billed === 0 ? shown.searches : searches),
    imageToolInput: images?.input_tokens,
    imageToolOutput: images?.output_tokens || shown.imageToolOutput,
  };
}

function isSearch(item: Json): boolean {
  return item?.type === 'web_search_call' && (item.action?.type ?? 'search') === 'search';
}

function isDoneSearch(item: Json): boolean {
  return isSearch(item) && item.status === 'completed';
}

/** Output tokens of a large image by its quality, where no count is known. */
const IMAGE_TOKENS: Record<string, number> = { low: 408, medium: 1584 };
const MOST_IMAGE_TOKENS = 6240;

/** The container of the provider in which a call runs, empty where its id is not known; undefined for a shell of the client. */
function containerOf(item: Json): string | undefined {
  if (item?.type === 'code_interpreter_call') return idOf(item.container_id);
  const id = item?.type === 'shell_call' && item.environment?.container_id;
  return id ? idOf(id) : undefined;
}

/** Longer ones are none, as they are kept until a stream ends. */
function idOf(id: Json): string {
  return typeof id === 'string' && id.length <= MAX_ID_CHARACTERS ? id : '';
}

const MAX_ID_CHARACTERS = 128;

/** Types of items whose tools are counted call by call. */
export const COUNTED_CALLS: readonly string[] = [
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'shell_call',
];

/** Use of a tool that an item has, or the one that an event ends; a container is used from the beginning of a call on. */
export function toolUseIn(body: Json): ShownUse | undefined {
  if (body?.type === 'response.output_item.added') return containerUse(body.item);
  return usedBy(body?.type === 'response.output_item.done' ? body.item : body);
}

function usedBy(item: Json): ShownUse | undefined {
  if (isDoneSearch(item)) return { searches: 1 };
  if (item?.type === 'file_search_call') return item.status === 'completed' ? { fileSearches: 1 } : undefined;
  if (item?.type !== 'image_generation_call' || !item.result) return containerUse(item);
  return { imageToolOutput: lookUp(IMAGE_TOKENS, item.quality) ?? MOST_IMAGE_TOKENS };
}

function containerUse(item: Json): ShownUse | undefined {
  const id = containerOf(item);
  return id === undefined ? undefined : { containers: 1, ...(id && { containerIds: [id] }) };
}

/** The usage of an answer; its details are always there, 0 where they are not known. */
export function encodeUsage(usage: Usage | undefined, costOf?: CostOf): Json {
  const { input = 0, output = 0, cached = 0, cacheWrite = 0, reasoning = 0, estimated } = usage ?? {};
  const cost = usage && costMembers(usage, costOf);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
    ...(cost && { cost: cost.total, cost_details: cost.details }),
    ...(estimated && { estimated }),
  };
}

/** Cost as OpenRouter shows it; the share of the output is the rest. */
function costMembers(usage: Usage, costOf: CostOf | undefined): { total: number; details: Json } | undefined {
  const cost = costOf?.(usage);
  if (cost === undefined) return undefined;
  const { total } = cost;
  const input = Math.min(total, cost.input);
  const details = {
    upstream_inference_cost: total,
    upstream_inference_input_cost: input,
    upstream_inference_output_cost: Number((total - input).toFixed(COST_DIGITS)),
  };
  return { total, details };
}

/** Cost members to set in an upstream's usage; all other members of the upstream stay. */
export function addCost(counted: Json, usage: Partial<Usage>, costOf: CostOf): Member[] {
  const cost = costMembers({ input: 0, output: 0, ...usage }, costOf);
  if (cost === undefined) return [];
  const { total, details } = cost;
  const members: Member[] = counted.cost === total ? [] : [{ path: ['cost'], value: total }];
  const given = counted.cost_details;
  if (!isObject(given)) return [...members, { path: ['cost_details'], value: details }];
  const missing = Object.entries(details).filter(([name]) => given[name] === undefined);
  return [...members, ...missing.map(([name, value]) => ({ path: ['cost_details', name], value }))];
}

/** Money is counted in 1e-12 USD; a difference of two floating-point numbers has more digits. */
const COST_DIGITS = 12;

function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined && item !== null)) as T;
}
