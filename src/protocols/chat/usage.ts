/** Token usage of chat completions, in all dialects. */

import type { Usage } from '../../core/chat.ts';
import { isObject, type Json, type Member } from '../../core/json/json.ts';
import type { CostOf } from '../../core/operation.ts';
import { reportedCost } from '../reported-cost.ts';
import { encodeServedTier } from '../service-tier.ts';
import { counts } from './response-shape.ts';

/** The counts in a body or chunk; undefined when it holds none. */
export function usageOf(body: Json): Usage | undefined {
  const usage = counts(body?.usage ?? body?.x_groq?.usage);
  if (typeof usage?.prompt_tokens !== 'number') return undefined;
  const prompt = usage.prompt_tokens_details ?? {};
  const completion = usage.completion_tokens_details ?? {};
  const { input, output, reasoning } = sums(usage);
  const cached: number =
    prompt.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? usage.cache_read_input_tokens;
  return defined({
    input: apart(input, cached),
    output: apart(output, reasoning),
    cached,
    cachedAudio: prompt.cached_tokens_details?.audio_tokens,
    cachedImage: prompt.cached_tokens_details?.image_tokens,
    cacheWrite: prompt.cache_write_tokens ?? usage.cache_creation_input_tokens,
    cacheWrite1h: usage.cache_creation?.ephemeral_1h_input_tokens,
    reasoning,
    audioInput: prompt.audio_tokens,
    imageInput: prompt.image_tokens,
    audioOutput: completion.audio_tokens,
    imageOutput: completion.image_tokens,
    searches: usage.num_search_queries ?? (usage.server_tool_use ?? usage.server_tool_use_details)?.web_search_requests,
    reportedCost: reportedCost(usage),
    tier: [body.service_tier, usage.service_tier].find((tier) => typeof tier === 'string'),
  });
}

/**
 * Some servers leave reasoning out of `completion_tokens`, or audio out of `prompt_tokens`; the total always counts all.
 */
function sums(usage: Json): { input: number; output: number; reasoning?: number } {
  const input: number = usage.prompt_tokens;
  const output: number = usage.completion_tokens ?? 0;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? usage.reasoning_tokens;
  const uncounted = (usage.total_tokens ?? 0) - input - output;
  if (uncounted <= 0) return { input, output, reasoning };
  if (uncounted === usage.prompt_tokens_details?.audio_tokens) return { input: input + uncounted, output, reasoning };
  return { input, output: output + uncounted, reasoning: reasoning || uncounted };
}

/** A detail count larger than its total was counted separately. */
function apart(whole: number, share: number | undefined): number {
  return share !== undefined && share > whole ? whole + share : whole;
}

export function encodeUsage(usage: Usage | undefined, costOf?: CostOf): Json {
  const { input = 0, output = 0, estimated } = usage ?? {};
  const cachedShares = defined({ audio_tokens: usage?.cachedAudio, image_tokens: usage?.cachedImage });
  const prompt = defined({
    cached_tokens: usage?.cached,
    cached_tokens_details: Object.keys(cachedShares).length > 0 ? cachedShares : undefined,
    cache_write_tokens: usage?.cacheWrite,
    audio_tokens: usage?.audioInput,
    image_tokens: usage?.imageInput,
  });
  const completion = defined({
    reasoning_tokens: usage?.reasoning,
    audio_tokens: usage?.audioOutput,
    image_tokens: usage?.imageOutput,
  });
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(Object.keys(prompt).length > 0 && { prompt_tokens_details: prompt }),
    ...(Object.keys(completion).length > 0 && { completion_tokens_details: completion }),
    ...(usage && costMembers(usage, costOf)),
    ...(estimated && { estimated }),
  };
}

/** OpenRouter's clients refuse `cost_details` without its shares; the share of the output is the rest. */
function costMembers(usage: Usage, costOf: CostOf | undefined): Json {
  const cost = costOf?.(usage);
  if (cost === undefined) return undefined;
  const { total } = cost;
  const prompt = Math.min(total, cost.input);
  const cost_details = {
    upstream_inference_cost: total,
    upstream_inference_prompt_cost: prompt,
    upstream_inference_completions_cost: Number((total - prompt).toFixed(COST_DIGITS)),
  };
  return { cost: total, cost_details };
}

/** Money is counted in 1e-12 USD; a difference of two floating-point numbers has more digits. */
const COST_DIGITS = 12;

/**
 * Cost members to set in an upstream's usage. `cost` is the amount charged to the key;
 * all other members of the upstream stay.
 */
export function addCost(counted: Json, usage: Partial<Usage>, costOf: CostOf): Member[] {
  const costs = costMembers({ input: 0, output: 0, ...usage }, costOf);
  if (!costs) return [];
  const members: Member[] = counted.cost === costs.cost ? [] : [{ path: ['cost'], value: costs.cost }];
  const given = counted.cost_details;
  if (isObject(given)) {
    const missing = Object.entries(costs.cost_details).filter(([name]) => given[name] === undefined);
    members.push(...missing.map(([name, value]) => ({ path: ['cost_details', name], value })));
  } else members.push({ path: ['cost_details'], value: costs.cost_details });
  const cache = defined({ cached_tokens: usage.cached, cache_write_tokens: usage.cacheWrite });
  const details = counted.prompt_tokens_details;
  if (isObject(details)) {
    const missing = Object.entries(cache).filter(([name]) => details[name] === undefined);
    members.push(...missing.map(([name, value]) => ({ path: ['prompt_tokens_details', name], value })));
  } else if (Object.keys(cache).length > 0) members.push({ path: ['prompt_tokens_details'], value: cache });
  return members;
}

/** `service_tier` of a response. */
export function encodeTier(usage: Usage | undefined): { service_tier?: string } {
  if (!usage?.tier) return {};
  return { service_tier: encodeServedTier(usage.tier) };
}

function defined<T extends object>(value: T): T {
  const result: Partial<T> = {};
  for (const name in value) if (value[name] !== undefined && value[name] !== null) result[name] = value[name];
  return result as T;
}
