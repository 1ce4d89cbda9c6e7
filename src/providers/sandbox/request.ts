/** Reads the bytes of a chat-completions request into what the sandbox's models look at. */

import { createHash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import type { Effort } from '../../core/chat.ts';
import { assertValid } from '../../core/check.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { textOf } from './content.ts';
import { countTokens } from './tokens.ts';

export interface Message {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  /** What was said; media, calls and refusals stand in it as words. */
  text: string;
  /** The tool whose result a tool message holds, where the call is in the conversation. */
  tool?: string;
}

export interface OfferedTool {
  name: string;
  /** JSON Schema of the arguments. */
  parameters: Json;
  custom: boolean;
}

export type Choice = 'auto' | 'none' | 'required';

export interface SandboxRequest {
  /** Made of a hash of the body: the same request has the same id. */
  id: string;
  model: string;
  stream: boolean;
  includeUsage: boolean;
  messages: Message[];
  /** The last thing the user said. */
  text: string;
  promptTokens: number;
  limit: number;
  stops: string[];
  /** How many answers are wanted. */
  count: number;
  /** How many log probabilities are wanted for each token, if any. */
  logprobs?: number;
  /** The schema the answer must fit. */
  format?: { schema: Json };
  tools: OfferedTool[];
  choice: Choice;
  parallel: boolean;
  effort: Effort;
  /** Largest number of reasoning tokens. */
  budget: number;
  showReasoning: boolean;
}

const Efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
const EffortName = Type.Union(Efforts.map((effort) => Type.Literal(effort)));

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

const Limit = Type.Optional(Type.Integer({ minimum: 1 }));
const Body = Type.Object({
  model: Type.String(),
  messages: Type.Array(WireMessage, { minItems: 1 }),
  stream: Type.Optional(Type.Boolean()),
  stream_options: Type.Optional(Type.Object({ include_usage: Type.Optional(Type.Boolean()) })),
  max_tokens: Limit,
  max_completion_tokens: Limit,
  stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
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

/** Throws `invalid_request` naming the field that is wrong. */
export function decodeRequest(bytes: Buffer, maxOutput: number): SandboxRequest {
  const body = parse(bytes);
  const messages = messagesOf(body);
  return {
    id: createHash('sha256').update(bytes).digest('hex').slice(0, 24),
    model: body.model,
    stream: body.stream ?? false,
    includeUsage: body.stream_options?.include_usage ?? false,
    messages,
    text: messages.findLast(({ role }) => role === 'user')?.text ?? '',
    promptTokens: messages.reduce((sum, { text }) => sum + countTokens(text), 0),
    limit: Math.min(body.max_completion_tokens ?? body.max_tokens ?? maxOutput, maxOutput),
    stops: [body.stop ?? []].flat().filter((stop) => stop !== ''),
    count: body.n ?? 1,
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    format: formatOf(body),
    ...toolsOf(body),
    parallel: body.parallel_tool_calls ?? true,
    ...reasoningOf(body),
  };
}

function parse(bytes: Buffer): Body {
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new GatewayError('invalid_request', 'The body is not valid JSON.', { cause });
  }
  assertValid(Body, body);
  return body as Body;
}

function messagesOf(body: Body): Message[] {
  const names = new Map<string, string>();
  return body.messages.map((message) => {
    for (const call of message.tool_calls ?? []) noteName(call, names);
    const tool = names.get(message.tool_call_id ?? '');
    return { role: message.role, text: textOf(message), ...(tool !== undefined && { tool }) };
  });
}

function noteName(call: Json, names: Map<string, string>): void {
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

/** A choice that names tools leaves only these; one named tool is required. */
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
  const missing = names.find((name) => !tools.some((tool) => tool.name === name));
  if (missing !== undefined) {
    throw new GatewayError('invalid_request', `tool_choice names ${missing}, which is not in tools.`, {
      param: 'tool_choice',
    });
  }
  return {
    tools: tools.filter((tool) => names.includes(tool.name)),
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
