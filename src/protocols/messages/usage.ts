/** Token usage: the messages protocol counts cached input separately from `input_tokens`, the hub includes it in `input`. */

import type { ToolUse, Usage } from '../../core/chat.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { joinUsage } from '../../core/usage-bounds.ts';
import { isRegion } from './output.ts';
import { counts } from './response-shape.ts';

/** Iterations within one response that are charged but not included in the totals. */
const EXTRA_ROUNDS = ['compaction', 'advisor_message'];

/** Service tiers of the protocol. */
const TIERS = ['standard', 'priority', 'batch'];

/** Counts in a usage object; a later one of the same stream may hold only some of the counts. */
function decodeUsage(given: Json): Partial<Usage> | undefined {
  const usage = counts(given);
  if (!usage) return undefined;
  const rounds: Json[] = usage.iterations ?? [];
  const counted = [usage, ...rounds.filter((round) => EXTRA_ROUNDS.includes(round.type))];
  const sum = (name: string) => counted.reduce((total, part) => total + count(part[name]), 0);

  const cached = sum('cache_read_input_tokens');
  const cacheWrite = sum('cache_creation_input_tokens');
  const found: Partial<Usage> = {};
  if (typeof usage.input_tokens === 'number') found.input = sum('input_tokens') + cached + cacheWrite;
  if (typeof usage.output_tokens === 'number') found.output = sum('output_tokens');
  if (cached > 0) found.cached = cached;
  if (cacheWrite > 0) found.cacheWrite = cacheWrite;
  // The end of a stream says in its rounds alone how long cache writes are kept.
  const written = usage.cache_creation ? counted : rounds;
  const hour = written.reduce((total, part) => total + count(part.cache_creation?.ephemeral_1h_input_tokens), 0);
  if (hour > 0 && cacheWrite > 0) found.cacheWrite1h = Math.min(hour, cacheWrite);
  const thinking = usage.output_tokens_details?.thinking_tokens;
  if (typeof thinking === 'number') found.reasoning = thinking;
  const searches = count(usage.server_tool_use?.web_search_requests);
  if (searches > 0) found.searches = searches;
  if (usage.speed === 'fast') found.tier = 'fast';
  else if (typeof usage.service_tier === 'string') found.tier = usage.service_tier;
  if (typeof usage.inference_geo === 'string') found.regional = isRegion(usage.inference_geo);
  return found;
}

/** Counts seen so far, completed by later ones; undefined while nothing was reported. */
export function mergeUsage(before: Usage | undefined, later: Partial<Usage> | undefined): Usage | undefined {
  return later ? { input: 0, output: 0, ...joinUsage(before, later) } : before;
}

export function encodeUsage(usage: Usage | undefined): Json {
  const { input = 0, output = 0, cached = 0, cacheWrite = 0, cacheWrite1h = 0 } = usage ?? {};
  const wire: Json = {
    input_tokens: Math.max(0, input - cached - cacheWrite),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    output_tokens: output,
  };
  if (cacheWrite > 0) {
    const hour = Math.min(cacheWrite1h, cacheWrite);
    wire.cache_creation = { ephemeral_5m_input_tokens: cacheWrite - hour, ephemeral_1h_input_tokens: hour };
  }
  if (usage?.reasoning !== undefined) wire.output_tokens_details = { thinking_tokens: usage.reasoning };
  if (usage?.searches) wire.server_tool_use = { web_search_requests: usage.searches, web_fetch_requests: 0 };
  const tier = usage?.tier === 'default' ? 'standard' : usage?.tier;
  if (tier === 'fast') wire.speed = tier;
  else if (tier && TIERS.includes(tier)) wire.service_tier = tier;
  if (usage?.estimated) wire.estimated = true;
  return wire;
}

/** Use of a tool in a block, or in the one that a frame begins: a search with results, as an error is not billed, or code that runs. */
export function toolUseIn(body: Json): ToolUse | undefined {
  const { type, name, content } = body?.content_block ?? body ?? {};
  if (type === 'web_search_tool_result') return Array.isArray(content) ? { searches: 1 } : undefined;
  const runsCode = CODE_TOOLS.includes(name) && type === 'server_tool_use';
  return runsCode ? { containers: 1 } : undefined;
}

/** Names of calls of the tool that runs code, by its version. */
const CODE_TOOLS = ['code_execution', 'bash_code_execution', 'text_editor_code_execution'];

/** The counts in a whole response, a `message_start` or a `message_delta`. */
export function usageOf(body: Json): Partial<Usage> | undefined {
  const usage = decodeUsage(body?.usage ?? body?.message?.usage);
  const { container } = body?.message ?? body?.delta ?? body ?? {};
  return usage && isObject(container) ? { ...usage, containers: 1 } : usage;
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
