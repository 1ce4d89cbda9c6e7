/** Request decoder: converts the body of a Responses client to the hub form. */

import type { ChatRequest, Effort, ReasoningRequest, ResponseFormat, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { unreadFields } from '../../core/losses.ts';
import { defined } from '../../core/plain-objects.ts';
import { decodeTier } from '../service-tier.ts';
import { decodeItems } from './decode-items.ts';
import { decodeTools, type ToolList } from './decode-tools.ts';
import { unreadInside } from './decode-unread.ts';
import { GATEWAY_FIELDS, LOGPROBS_INCLUDED, SOURCES_INCLUDED, STATE_INCLUDED } from './request-fields.ts';

/**
 * Members that `decodeRequest` reads, or that concern only the response: those about storage, and the metadata of the client
 * program, which is meant for the provider's statistics.
 */
const READ_FIELDS = [
  'model', 'input', 'instructions', 'stream', 'tools', 'tool_choice', 'parallel_tool_calls', 'max_output_tokens',
  'temperature', 'top_p', 'top_logprobs', 'presence_penalty', 'frequency_penalty', 'text', 'reasoning', 'include', 'metadata',
  'user', 'safety_identifier', 'service_tier', 'prompt_cache_key', 'truncation', 'stream_options', 'context_management',
  'moderation', 'prompt', 'store', 'background', 'previous_response_id', 'conversation', 'client_metadata',
]; // biome-ignore format: a list

const KNOWN_FIELDS = new Set([...GATEWAY_FIELDS, ...READ_FIELDS]);

/** `body` has passed `check`. Throws `unsupported_*` for content that cannot be translated. */
export function decodeRequest(body: Json): ChatRequest {
  const given: Json = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  refuseProviders(given);
  const { turns, tools: joined, effort, format, dropped } = decodeInput(given.input);
  const lists: ToolList[] = [
    { tools: given.tools ?? [], path: 'tools' },
    { tools: joined, path: 'input.tools' },
  ];
  const tools = decodeTools(lists, given.tool_choice);
  const all = lists.flatMap((list) => list.tools);
  const instructions = decodeInstructions(given.instructions);
  if (tools.webSearch && given.include?.includes(SOURCES_INCLUDED)) tools.webSearch.sources = true;
  const request: ChatRequest = {
    stream: given.stream === true,
    turns: [...instructions.turns, ...turns],
    tools: tools.tools,
    toolChoice: tools.toolChoice,
    parallelCalls: given.parallel_tool_calls,
    maxTokens: given.max_output_tokens,
    temperature: given.temperature,
    topP: given.top_p,
    presencePenalty: given.presence_penalty,
    frequencyPenalty: given.frequency_penalty,
    logprobs: given.include?.includes(LOGPROBS_INCLUDED) ? (given.top_logprobs ?? 0) : undefined,
    format: decodeFormat(format ?? given.text?.format),
    reasoning: decodeReasoning({ ...given.reasoning, ...(effort !== undefined && { effort }) }),
    verbosity: given.text?.verbosity ?? undefined,
    cacheKey: given.prompt_cache_key,
    tier: decodeTier(given.service_tier),
    user: given.safety_identifier ?? given.user,
    metadata: given.metadata,
    webSearch: tools.webSearch,
    dropped: [
      ...unreadFields(given, KNOWN_FIELDS),
      ...unusedOptions(given, tools.webSearch !== undefined),
      ...unreadInside(given, all),
      ...tools.dropped,
      ...instructions.dropped,
      ...dropped,
    ],
  };
  return defined(request) as ChatRequest;
}

function decodeInput(input: Json): ReturnType<typeof decodeItems> {
  return decodeItems(typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []));
}

/** A text, or items before those of the input. */
function decodeInstructions(instructions: Json): { turns: Turn[]; dropped: string[] } {
  if (Array.isArray(instructions)) return decodeItems(instructions, 'instructions');
  if (!instructions) return { turns: [], dropped: [] };
  return { turns: [{ role: 'system', parts: [{ type: 'text', text: instructions }] }], dropped: [] };
}

/** Refuses members that only the provider can serve and that the answer depends on. */
function refuseProviders({ prompt, moderation, context_management }: Json): void {
  if (prompt !== undefined) refuse('prompt', 'names a template that only its own provider has; send its text');
  if (moderation !== undefined) refuse('moderation', 'only works with the provider of the model');
  const edits: Json[] = context_management ?? [];
  const other = edits.findIndex(({ type }) => type !== 'compaction');
  if (other >= 0) refuse(`context_management[${other}]`, 'only works with the provider of the model');
}

function refuse(param: string, why: string): never {
  throw new GatewayError('unsupported_parameter', `${param} ${why}.`, { param });
}

/** Options with a value that no other protocol can carry. Nothing is truncated or compacted unasked. */
function unusedOptions(body: Json, searches: boolean): string[] {
  const { reasoning = {}, include = [], truncation, stream_options, context_management } = body;
  const summary = reasoning?.summary ?? reasoning?.generate_summary ?? 'auto';
  const unused: Record<string, boolean> = {
    truncation: truncation === 'auto',
    'stream_options.include_obfuscation': stream_options?.include_obfuscation === true,
    context_management: context_management?.length > 0,
    user: body.user !== undefined && body.safety_identifier !== undefined,
    service_tier: body.service_tier !== undefined && decodeTier(body.service_tier) === undefined,
    'reasoning.summary': summary !== 'auto' && summary !== 'none',
    'reasoning.context': Boolean(reasoning?.context),
    'reasoning.mode': Boolean(reasoning?.mode) && reasoning.mode !== 'standard',
  };
  const read = [STATE_INCLUDED, LOGPROBS_INCLUDED, ...(searches ? [SOURCES_INCLUDED] : [])];
  const included: string[] = include.filter((name: string) => !read.includes(name));
  return [...Object.keys(unused).filter((name) => unused[name]), ...included.map((name) => `include.${name}`)];
}

function decodeFormat(format: Json): ResponseFormat | undefined {
  switch (format?.type) {
    case 'json_object':
      return { type: 'json' };
    case 'json_schema': {
      const { name, description, schema, strict } = format;
      return {
        type: 'schema',
        schema,
        name,
        ...(description && { description }),
        ...(typeof strict === 'boolean' && { strict }),
      };
    }
    default:
      return undefined;
  }
}

/** A request for a summary is one to show the reasoning. */
function decodeReasoning({ effort, summary, generate_summary }: Json): ReasoningRequest | undefined {
  const asked = summary ?? generate_summary ?? 'none';
  const reasoning = defined({
    effort: (effort ?? undefined) as Effort | undefined,
    visible: asked === 'none' ? undefined : true,
  });
  return Object.keys(reasoning).length > 0 ? (reasoning as ReasoningRequest) : undefined;
}
