/** Request schema of chat completions. Unknown fields pass, because dialects add many fields. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { EFFORTS } from '../../core/effort.ts';
import { GatewayError } from '../../core/errors.ts';
import { assertValid, problems } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import {
  MAX_ID_CHARACTERS,
  MAX_MEDIA_TYPE_CHARACTERS,
  MAX_MODEL_CHARACTERS,
  MAX_NAME_CHARACTERS,
} from '../../core/lengths.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { relaxed } from '../../core/relaxed-schema.ts';
import { DATA_URL, isDataUrl, problemOfDataUrl } from '../data-url.ts';
import { TOOL_NAME } from './tools.ts';

const OptionalString = Type.Optional(Type.String());
const OptionalBoolean = Type.Optional(Type.Boolean());
const Open = Type.Object({});
const Id = Type.String({ maxLength: MAX_ID_CHARACTERS });
const Name = Type.String({ maxLength: MAX_NAME_CHARACTERS });
const CallName = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS });
const OptionalName = Type.Optional(Name);

/** Only the `type` of parts and tools is checked here; `checkTyped` checks the rest. */
const Content = Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() }))]);

const ToolCall = Type.Object({
  id: Id,
  type: Type.Optional(Type.Enum(['function', 'custom'])),
  function: Type.Optional(Type.Object({ name: CallName, arguments: OptionalString })),
  custom: Type.Optional(Type.Object({ name: Name, input: Type.String() })),
});

/** State that clients return; only its strings are checked. */
const ReasoningDetail = Type.Object({
  type: OptionalString,
  text: OptionalString,
  summary: OptionalString,
  data: OptionalString,
  signature: OptionalString,
  id: OptionalString,
});

const Message = Type.Union([
  Type.Object({ role: Type.Enum(['system', 'developer', 'user']), content: Content, name: OptionalName }),
  Type.Object({
    role: Type.Literal('assistant'),
    content: Type.Optional(Type.Union([Content, Type.Null()])),
    name: OptionalName,
    refusal: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    tool_calls: Type.Optional(Type.Array(ToolCall)),
    function_call: Type.Optional(Type.Object({ name: Name, arguments: OptionalString })),
    reasoning_details: Type.Optional(Type.Array(ReasoningDetail)),
  }),
  Type.Object({ role: Type.Literal('tool'), content: Content, tool_call_id: Id, name: OptionalName }),
  Type.Object({
    role: Type.Literal('function'),
    content: Type.Union([Type.String(), Type.Null()]),
    name: Name,
  }),
]);

const Named = Type.Object({ name: Name });
const ToolChoice = Type.Union([
  Type.Enum(['none', 'auto', 'required', 'any']),
  Type.Object({ type: Type.Literal('function'), function: Named }),
  Type.Object({ type: Type.Literal('custom'), custom: Named }),
  Type.Object({
    type: Type.Literal('allowed_tools'),
    allowed_tools: Type.Object({ mode: Type.Enum(['auto', 'required']), tools: Type.Array(Open) }),
  }),
]);

const ResponseFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  Type.Object({
    type: Type.Literal('json_schema'),
    json_schema: Type.Object({
      name: Type.Optional(Type.String({ maxLength: 64 })),
      description: OptionalString,
      schema: Type.Optional(Open),
      strict: OptionalBoolean,
    }),
  }),
]);

const Function_ = Type.Object({
  name: Type.String({ pattern: TOOL_NAME, errorMessage: 'must be 1 to 64 letters, digits, - or _' }),
  description: OptionalString,
  parameters: Type.Optional(Open),
  strict: OptionalBoolean,
});

function between(minimum: number, maximum: number) {
  return Type.Optional(Type.Number({ minimum, maximum }));
}

function integer(minimum: number, maximum?: number) {
  return Type.Optional(Type.Integer({ minimum, ...(maximum !== undefined && { maximum }) }));
}

const Body = Type.Object({
  model: Type.String({ minLength: 1, maxLength: MAX_MODEL_CHARACTERS }),
  messages: Type.Array(Message, { minItems: 1 }),
  stream: OptionalBoolean,
  stream_options: Type.Optional(Type.Object({ include_usage: OptionalBoolean })),
  max_tokens: integer(1),
  max_completion_tokens: integer(1),
  temperature: between(0, 2),
  top_p: between(0, 1),
  top_k: integer(0),
  frequency_penalty: between(-2, 2),
  presence_penalty: between(-2, 2),
  seed: Type.Optional(Type.Integer()),
  stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 4 })])),
  n: integer(1, 128),
  logprobs: OptionalBoolean,
  top_logprobs: integer(0, 20),
  logit_bias: Type.Optional(Type.Record(Type.String(), Type.Number({ minimum: -100, maximum: 100 }))),
  tools: Type.Optional(Type.Array(Type.Object({ type: OptionalString }))),
  tool_choice: Type.Optional(ToolChoice),
  parallel_tool_calls: OptionalBoolean,
  functions: Type.Optional(Type.Array(Function_)),
  function_call: Type.Optional(Type.Union([Type.Enum(['none', 'auto']), Named])),
  response_format: Type.Optional(ResponseFormat),
  reasoning_effort: Type.Optional(Type.Enum([...EFFORTS, 'default'])),
  reasoning: Type.Optional(
    Type.Object({
      effort: Type.Optional(Type.Enum([...EFFORTS, 'default'])),
      max_tokens: integer(0),
      enabled: OptionalBoolean,
      exclude: OptionalBoolean,
    }),
  ),
  verbosity: Type.Optional(Type.Enum(['low', 'medium', 'high'])),
  modalities: Type.Optional(Type.Array(Type.Enum(['text', 'image', 'audio', 'video']))),
  audio: Type.Optional(Open),
  web_search_options: Type.Optional(Open),
  service_tier: OptionalString,
  prompt_cache_key: OptionalString,
  user: OptionalString,
  safety_identifier: OptionalString,
  metadata: Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 512 }), { maxProperties: 16 })),
  provider: Type.Optional(Open),
});

const Addressed = Type.Object({ url: Type.String({ minLength: 1 }) });

/** Known content parts; the upstream checks others. */
export const PARTS: Record<string, TSchema> = {
  text: Type.Object({ text: Type.String() }),
  refusal: Type.Object({ refusal: Type.String() }),
  image_url: Type.Object({
    image_url: Type.Union([
      Type.String(),
      Type.Object({
        url: Type.String({ minLength: 1 }),
        detail: Type.Optional(Type.Enum(['auto', 'low', 'high', 'original'])),
      }),
    ]),
  }),
  input_audio: Type.Object({
    input_audio: Type.Union([
      Type.String(),
      Type.Object({ data: Type.String(), format: Type.String({ maxLength: MAX_MEDIA_TYPE_CHARACTERS }) }),
    ]),
  }),
  file: Type.Object({
    file: Type.Object({ file_data: OptionalString, file_id: Type.Optional(Id), filename: OptionalName }),
  }),
  video_url: Type.Object({ video_url: Addressed }),
  audio_url: Type.Object({ audio_url: Addressed }),
  file_url: Type.Object({ file_url: Addressed }),
  document_url: Type.Object({ document_url: Type.String() }),
};

export const TOOLS: Record<string, TSchema> = {
  function: Type.Object({ function: Function_ }),
  custom: Type.Object({ custom: Type.Object({ name: CallName, format: Type.Optional(Open) }) }),
};

/** Places in which a part of each type may hold a data URL. */
const ADDRESSES: Record<string, (part: Json) => unknown> = {
  image_url: (part) => part.image_url.url ?? part.image_url,
  input_audio: (part) => part.input_audio,
  file: (part) => part.file.file_data,
  video_url: (part) => part.video_url.url,
  audio_url: (part) => part.audio_url.url,
  file_url: (part) => part.file_url.url,
  document_url: (part) => part.document_url,
};

const TEXT_ONLY = ['system', 'developer'];

/** Members whose ranges the gateway enforces: they determine the cost of a request. */
const LIMITED_PATHS = [
  'model',
  'temperature',
  'frequency_penalty',
  'presence_penalty',
  'max_tokens',
  'max_completion_tokens',
  'n',
];
const Limits = relaxed(Body, LIMITED_PATHS);

export const schema = Body;

const RELAXED_PARTS = relaxedAll(PARTS);
const RELAXED_TOOLS = relaxedAll(TOOLS);

function relaxedAll(schemas: Record<string, TSchema>): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, relaxed(schema)]));
}

export function checkLimits(body: Json): void {
  assertValid(Limits, body);
  checkStructure(body, RELAXED_PARTS, RELAXED_TOOLS);
}

/** Throws `invalid_request` for the first problem. */
export function check(body: Json): void {
  assertValid(Body, body);
  checkStructure(body, PARTS, TOOLS);
  if (body.top_logprobs && !body.logprobs) fail('top_logprobs', 'needs logprobs: true');
}

function checkStructure(body: Json, parts: Record<string, TSchema>, tools: Record<string, TSchema>): void {
  for (const [index, message] of body.messages.entries()) checkMessage(message, `messages[${index}]`, parts);
  for (const [index, tool] of (body.tools ?? []).entries())
    checkTyped(tools, tool, tool.type ?? 'function', `tools[${index}]`);
}

function checkMessage(message: Json, path: string, parts: Record<string, TSchema>): void {
  if (Array.isArray(message.content)) {
    for (const [index, part] of message.content.entries()) {
      const at = `${path}.content[${index}]`;
      if (TEXT_ONLY.includes(message.role) && part.type !== 'text') fail(`${at}.type`, 'must be "text" in this role');
      checkTyped(parts, part, part.type, at);
      checkAddress(part, `${at}.${part.type}`);
      if (part.type === 'file' && !part.file.file_data && !part.file.file_id) {
        fail(`${at}.file`, 'must have file_data or file_id');
      }
    }
  }
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    if (!call.function && !call.custom) fail(`${path}.tool_calls[${index}].function`, 'is required');
  }
}

function checkAddress(part: Json, path: string): void {
  const address = lookUp(ADDRESSES, part.type)?.(part);
  if (typeof address !== 'string' || !address.startsWith(DATA_URL) || isDataUrl(address)) return;
  fail(path, problemOfDataUrl(address));
}

function checkTyped(schemas: Record<string, TSchema>, value: Json, type: string, path: string): void {
  const schema = lookUp(schemas, type);
  const [problem] = schema ? problems(schema, value) : [];
  if (problem) fail(`${path}.${problem.path}`, problem.message);
}

function fail(path: string, message: string): never {
  throw new GatewayError('invalid_request', `${path} ${message}.`, { param: path });
}
