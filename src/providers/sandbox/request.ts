/** Decoder of chat completions requests for the sandbox models. */

import { createHash } from 'node:crypto';
import type { Static } from 'typebox';
import * as Type from 'typebox';
import type { Effort } from '../../core/chat.ts';
import { EFFORTS } from '../../core/effort.ts';
import { GatewayError } from '../../core/errors.ts';
import { readBody, yieldIfLarge } from '../../core/json/body.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { textOf } from './content.ts';
import { countTokens } from './tokens.ts';

export interface SandboxMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** Text of the message, with labels for media, calls and refusals. */
  text: string;
  /** Tool of a tool result, if the call is in the conversation. */
  tool?: string;
}

export interface OfferedTool {
  name: string;
  /** JSON Schema of the arguments. */
  parameters: Json;
  custom: boolean;
}

export type SandboxToolChoice = 'auto' | 'none' | 'required';

export interface SandboxRequest {
  /** Hash of the body: the same request has the same id. */
  id: string;
  model: string;
  stream: boolean;
  includeUsage: boolean;
  messages: SandboxMessage[];
  /** The last user message. */
  text: string;
  promptTokens: number;
  limit: number;
  stops: string[];
  /** Number of choices. */
  count: number;
  /** Number of log probabilities per token; absent if not requested. */
  logprobs?: number;
  /** The schema the answer must fit. */
  format?: { schema: Json };
  tools: OfferedTool[];
  choice: SandboxToolChoice;
  parallel: boolean;
  effort: Effort;
  /** Maximum number of reasoning tokens. */
  budget: number;
  showReasoning: boolean;
}

const EffortName = Type.Union(EFFORTS.map((effort) => Type.Literal(effort)));

const ToolName = Type.Object({ name: Type.String({ minLength: 1 }) });
const FunctionTool = Type.Object({
  type: Type.Literal('function'),
  function: Type.Object({ name: Type.String({ minLength: 1 }), parameters: Type.Optional(Type.Unknown()) }),
});
const CustomTool = Type.Object({ type: Type.Literal('custom'), custom: ToolName });
const NamedTool = Type.Union([
  Type.Object({ type: Type.Literal('function'), function: ToolName }),
  Type.Object({ type: Type.Literal('custom'), custom: ToolName }),
]);
const Mode = Type.Union([Type.Literal('auto'), Type.Literal('required')]);
const AllowedTools = Type.Object({
  type: Type.Literal('allowed_tools'),
  allowed_tools: Type.Object({ mode: Mode, tools: Type.Array(NamedTool) }),
});

const Roles = ['system', 'developer', 'user', 'assistant', 'tool'] as const;
const WireMessage = Type.Object({
  role: Type.Union(Roles.map((role) => Type.Literal(role))),
  content: Type.Optional(Type.Unknown()),
  tool_call_id: Type.Optional(Type.String()),
  tool_calls: Type.Optional(Type.Array(Type.Unknown())),
});

const Stop = Type.String({ maxLength: 256 });
const Limit = Type.Optional(Type.Integer({ minimum: 1 }));
const Body = Type.Object({
  model: Type.String(),
  messages: Type.Array(WireMessage, { minItems: 1 }),
  stream: Type.Optional(Type.Boolean()),
  stream_options: Type.Optional(Type.Object({ include_usage: Type.Optional(Type.Boolean()) })),
  max_tokens: Limit,
  max_completion_tokens: Limit,
  stop: Type.Optional(Type.Union([Stop, Type.Array(Stop, { maxItems: 4 })])),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 16 })),
  logprobs: Type.Optional(Type.Boolean()),
  top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
  response_format: Type.Optional(
    Type.Union([
      Type.Object({ type: Type.Literal('text') }),
      Type.Object({ type: Type.Literal('json_object') }),
      Type.Object({
        type: Type.Literal('json_schema'),
        json_schema: Type.Object({ schema: Type.Optional(Type.Unknown()) }),
      }),
    ]),
  ),
  tools: Type.Optional(Type.Array(Type.Union([FunctionTool, CustomTool]), { maxItems: 128 })),
  tool_choice: Type.Optional(
    Type.Union([
      Type.Literal('none'),
      Type.Literal('auto'),
      Type.Literal('required'),
      ...NamedTool.anyOf,
      AllowedTools,
    ]),
  ),
  parallel_tool_calls: Type.Optional(Type.Boolean()),
  reasoning_effort: Type.Optional(EffortName),
  reasoning: Type.Optional(
    Type.Object({
      effort: Type.Optional(EffortName),
      max_tokens: Limit,
      enabled: Type.Optional(Type.Boolean()),
      exclude: Type.Optional(Type.Boolean()),
    }),
  ),
});
type Body = Static<typeof Body>;

export interface SandboxLimits {
  /** Maximum tokens of all messages. */
  context: number;
  /** Maximum tokens of all choices. */
  output: number;
}

const HASH_SLICE_BYTES = 1024 * 1024;
/** Maximum length of a token without preceding white space. */
const MAX_TOKEN_CHARACTERS = 16;

/** Throws `invalid_request` naming the invalid field, and `context_length_exceeded`. */
export async function decodeRequest(bytes: Buffer, limits: SandboxLimits): Promise<SandboxRequest> {
  const body = await readBody(bytes);
  assertValid(Body, body);
  return { id: await idOf(bytes), ...requestOf(body, limits) };
}

/** Hashes in slices, so that a large body does not block the event loop. */
async function idOf(bytes: Buffer): Promise<string> {
  const hash = createHash('sha256');
  for (let start = 0; start < bytes.length; start += HASH_SLICE_BYTES) {
    if (start > 0) await yieldIfLarge(bytes.length);
    hash.update(bytes.subarray(start, start + HASH_SLICE_BYTES));
  }
  return hash.digest('hex').slice(0, 24);
}

function requestOf(body: Body, { context, output }: SandboxLimits): Omit<SandboxRequest, 'id'> {
  const messages = messagesOf(body);
  const count = body.n ?? 1;
  const most = Math.floor(output / count);
  return {
    model: body.model,
    stream: body.stream ?? false,
    includeUsage: body.stream_options?.include_usage ?? false,
    messages,
    text: messages.findLast(({ role }) => role === 'user')?.text ?? '',
    promptTokens: promptTokensOf(messages, context),
    limit: Math.min(body.max_completion_tokens ?? body.max_tokens ?? most, most),
    stops: [body.stop ?? []].flat().filter((stop) => stop !== ''),
    count,
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    format: formatOf(body),
    ...toolsOf(body),
    parallel: body.parallel_tool_calls ?? true,
    ...reasoningOf(body),
  };
}

/** Refuses text by its length before it is split into tokens. */
function promptTokensOf(messages: SandboxMessage[], context: number): number {
  const characters = messages.reduce((sum, { text }) => sum + text.length, 0);
  const most = context * MAX_TOKEN_CHARACTERS;
  if (characters > most) throw tooLong(`${characters} characters; the sandbox takes at most ${most}`);
  let tokens = 0;
  for (const { text } of messages) {
    tokens += countTokens(text, context - tokens);
    if (tokens > context) throw tooLong(`more than the ${context} tokens that the sandbox takes at most`);
  }
  return tokens;
}

function tooLong(what: string): GatewayError {
  return new GatewayError('context_length_exceeded', `The messages hold ${what}.`, { param: 'messages' });
}

function messagesOf(body: Body): SandboxMessage[] {
  const names = new Map<string, string>();
  return body.messages.map((message) => {
    for (const call of message.tool_calls ?? []) recordToolName(call, names);
    const tool = names.get(message.tool_call_id ?? '');
    return { role: message.role, text: textOf(message), ...(tool !== undefined && { tool }) };
  });
}

function recordToolName(call: Json, names: Map<string, string>): void {
  const name = call?.function?.name ?? call?.custom?.name;
  if (typeof name === 'string') names.set(call.id, name);
}

function formatOf({ response_format: format }: Body): SandboxRequest['format'] {
  switch (format?.type) {
    case 'json_object':
      return { schema: { type: 'object', properties: { text: { type: 'string' } } } };
    case 'json_schema':
      return { schema: format.json_schema.schema ?? {} };
    default:
      return undefined;
  }
}

/** A choice that names tools removes all others; a single named tool is required. */
function toolsOf(body: Body): Pick<SandboxRequest, 'tools' | 'choice'> {
  const tools = (body.tools ?? []).map(
    (tool): OfferedTool =>
      tool.type === 'custom'
        ? { name: tool.custom.name, parameters: {}, custom: true }
        : { name: tool.function.name, parameters: tool.function.parameters ?? {}, custom: false },
  );
  const choice = body.tool_choice ?? 'auto';
  if (typeof choice === 'string') return { tools, choice };
  const named = choice.type === 'allowed_tools' ? choice.allowed_tools.tools : [choice];
  const names = named.map((tool) => (tool.type === 'custom' ? tool.custom.name : tool.function.name));
  const offered = new Set(tools.map(({ name }) => name));
  const missing = names.find((name) => !offered.has(name));
  if (missing !== undefined) {
    throw new GatewayError('invalid_request', `tool_choice names ${missing}, which is not in tools.`, {
      param: 'tool_choice',
    });
  }
  const allowed = new Set(names);
  return {
    tools: tools.filter((tool) => allowed.has(tool.name)),
    choice: choice.type === 'allowed_tools' ? choice.allowed_tools.mode : 'required',
  };
}

function reasoningOf(body: Body): Pick<SandboxRequest, 'effort' | 'budget' | 'showReasoning'> {
  const { effort, enabled, exclude, max_tokens: budget } = body.reasoning ?? {};
  return {
    effort: enabled === false ? 'none' : (body.reasoning_effort ?? effort ?? 'medium'),
    budget: budget ?? Number.POSITIVE_INFINITY,
    showReasoning: exclude !== true,
  };
}
