/** The response object: its own members, and those that repeat the request. */

import type { Usage } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import type { EncoderOptions } from '../../core/operation.ts';
import { encodeServedTier } from '../service-tier.ts';
import { builtInTool } from './built-in-calls.ts';
import { SOURCES_INCLUDED, STATE_INCLUDED } from './request-fields.ts';
import { encodeUsage } from './usage.ts';

/** Members that an answer takes from its request. */
export interface Echo {
  /** Members that every answer repeats, with the values that count where the request has none. */
  members: Json;
  /** The client takes state of reasoning, and hands it back. */
  includesState: boolean;
  /** The client takes the addresses of the pages that a search found. */
  includesSources: boolean;
  /** Built-in tools that the client runs. */
  builtIns: readonly string[];
}

/** `sent`: the request with the items to which it refers. */
export function echoOf(body: Json, sent: Json = body): Echo {
  const tools: Json[] = Array.isArray(body.tools) ? body.tools : [];
  const { text, reasoning } = body;
  const included: Json[] = Array.isArray(body.include) ? body.include : [];
  return {
    members: {
      instructions: body.instructions ?? null,
      previous_response_id: body.previous_response_id ?? null,
      tools: tools.map(echoTool),
      tool_choice: body.tool_choice ?? 'auto',
      parallel_tool_calls: body.parallel_tool_calls ?? true,
      max_tool_calls: body.max_tool_calls ?? null,
      max_output_tokens: body.max_output_tokens ?? null,
      temperature: body.temperature ?? 1,
      top_p: body.top_p ?? 1,
      presence_penalty: body.presence_penalty ?? 0,
      frequency_penalty: body.frequency_penalty ?? 0,
      top_logprobs: body.top_logprobs ?? 0,
      text: { ...text, format: echoFormat(text?.format) },
      reasoning: { ...reasoning, effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
      truncation: body.truncation ?? 'disabled',
      background: false,
      service_tier: body.service_tier ?? 'auto',
      metadata: body.metadata ?? {},
      safety_identifier: body.safety_identifier ?? null,
      prompt_cache_key: body.prompt_cache_key ?? null,
      ...(body.user && { user: body.user }),
    },
    includesState: included.includes(STATE_INCLUDED),
    includesSources: included.includes(SOURCES_INCLUDED),
    builtIns: [...tools, ...joinedTools(sent.input)].map(({ type }) => type).filter((type) => builtInTool(type)),
  };
}

/** Tools that join in the conversation. */
function joinedTools(input: Json): Json[] {
  const items: Json[] = Array.isArray(input) ? input : [];
  return items.flatMap(({ type, tools }) => (JOINING.includes(type) && Array.isArray(tools) ? tools : []));
}

/** Items with tools. */
const JOINING = ['additional_tools', 'tool_search_output'];

function echoTool(tool: Json): Json {
  if (tool.type !== 'function') return tool;
  const { description = null, parameters = null, strict = true } = tool;
  return { ...tool, description, parameters, strict: strict ?? false };
}

function echoFormat(format: Json): Json {
  if (format?.type !== 'json_schema') return format ?? { type: 'text' };
  const { description = null, schema = null, strict = false } = format;
  return { ...format, description, schema, strict: strict ?? false };
}

/** The members of an answer that are its own. */
export interface OwnMembers {
  id: string;
  created: number;
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  output: Json[];
  completedAt?: number;
  incompleteReason?: string;
  error?: Json;
  /** Absent while the answer is in progress. */
  usage?: Usage | undefined;
}

export function encodeResponseObject(own: OwnMembers, options: EncoderOptions): Json {
  const { members } = echoIn(options);
  const { usage, status } = own;
  const tier = tierOf(usage?.tier ?? members.service_tier);
  return {
    id: own.id,
    object: 'response',
    created_at: own.created,
    completed_at: own.completedAt ?? null,
    status,
    incomplete_details: own.incompleteReason === undefined ? null : { reason: own.incompleteReason },
    error: own.error ?? null,
    model: options.model,
    output: own.output,
    ...members,
    store: options.isStored ?? false,
    service_tier: status === 'in_progress' ? members.service_tier : tier,
    usage: status === 'in_progress' || status === 'failed' ? null : encodeUsage(usage, options.costOf),
  };
}

/** The echo in the options of an encoder, or that of a request without options. */
export function echoIn({ echo }: Pick<EncoderOptions, 'echo'>): Echo {
  return (echo as Echo | undefined) ?? echoOf({});
}

/** An answer has one of the tiers. */
function tierOf(tier: string): string {
  return tier === 'auto' ? 'default' : encodeServedTier(tier);
}
