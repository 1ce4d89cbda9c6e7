/** Request check of the messages protocol. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import { assertValid, problems } from '../../core/json/check.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { MAX_MODEL_CHARACTERS, MAX_NAME_CHARACTERS } from '../../core/lengths.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { relaxed } from '../../core/relaxed-schema.ts';
import { BLOCKS, CacheControl } from './block-schema.ts';

const optional = (schema: TSchema) => Type.Optional(schema);
const oneOf = (...values: string[]) => Type.Union(values.map((value) => Type.Literal(value)));

const Block = Type.Object({ type: Type.String() });
const Content = Type.Union([Type.String(), Type.Array(Block)]);
const Effort = oneOf('low', 'medium', 'high', 'xhigh', 'max');
/** A system message that only sets the effort of later answers may have no content. */
const Message = Type.Object({
  role: oneOf('user', 'assistant', 'system'),
  content: optional(Content),
  output_config: optional(Type.Object({ effort: optional(Effort) })),
});

const Tool = Type.Object({
  type: optional(Type.String()),
  name: optional(Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS })),
  description: optional(Type.String()),
  input_schema: optional(Type.Object({})),
  strict: optional(Type.Boolean()),
  defer_loading: optional(Type.Boolean()),
  cache_control: optional(CacheControl),
});

const parallel = { disable_parallel_tool_use: optional(Type.Boolean()) };
const ToolChoice = Type.Union([
  Type.Object({ type: Type.Literal('auto'), ...parallel }),
  Type.Object({ type: Type.Literal('any'), ...parallel }),
  Type.Object({
    type: Type.Literal('tool'),
    name: Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS }),
    ...parallel,
  }),
  Type.Object({ type: Type.Literal('none') }),
]);

const display = { display: optional(Type.String()) };
const Thinking = Type.Union([
  Type.Object({ type: Type.Literal('enabled'), budget_tokens: Type.Integer({ minimum: 1024 }), ...display }),
  Type.Object({ type: Type.Literal('adaptive'), ...display }),
  Type.Object({ type: Type.Literal('disabled') }),
  Type.Object({ type: Type.Literal('between_tools') }),
]);

const JsonFormat = Type.Object({ type: Type.Literal('json_schema'), schema: Type.Object({}) });

const fields = {
  model: Type.String({ minLength: 1, maxLength: MAX_MODEL_CHARACTERS }),
  messages: Type.Array(Message, { minItems: 1, maxItems: 100_000 }),
  system: optional(Content),
  stream: optional(Type.Boolean()),
  temperature: optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_p: optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: optional(Type.Integer({ minimum: 0 })),
  stop_sequences: optional(Type.Array(Type.String())),
  tools: optional(Type.Array(Tool)),
  tool_choice: optional(ToolChoice),
  thinking: optional(Thinking),
  output_config: optional(Type.Object({ effort: optional(Effort), format: optional(JsonFormat) })),
  output_format: optional(JsonFormat),
  cache_control: optional(CacheControl),
  metadata: optional(Type.Object({ user_id: optional(Type.String()) })),
  service_tier: optional(oneOf('auto', 'standard_only')),
  speed: optional(oneOf('standard', 'fast')),
};

const Generate = Type.Object({ ...fields, max_tokens: Type.Integer({ minimum: 0 }) });
const Count = Type.Object({ ...fields, max_tokens: optional(Type.Integer({ minimum: 0 })) });

/** Members whose ranges the gateway enforces: they determine the cost of a request. */
const LIMITED_PATHS = ['model', 'temperature', 'max_tokens'];

export const requestSchema = Generate;
export const countSchema = Count;

export const checkRequestLimits = createCheck(relaxed(Generate, LIMITED_PATHS));
export const checkRequest = createCheck(Generate);
export const checkCountLimits = createCheck(relaxed(Count, LIMITED_PATHS));
export const checkCount = createCheck(Count);

/** The check throws `invalid_request` for the first field that is wrong. */
function createCheck(schema: TSchema): (body: Json) => void {
  return (body) => {
    assertValid(schema, body);
    checkStructure(body);
  };
}

function checkStructure(body: Json): void {
  checkBlocks(body.system, 'system', ['text']);
  for (const [index, message] of body.messages.entries()) {
    const isSetting = message.role === 'system' && isObject(message.output_config);
    if (!isSetting && (message.content ?? undefined) === undefined) fail(`messages[${index}].content`, 'is required');
    checkBlocks(
      message.content,
      `messages[${index}].content`,
      TYPES_OF_ROLE[message.role as keyof typeof TYPES_OF_ROLE],
    );
  }
  for (const [index, tool] of (body.tools ?? []).entries()) checkTool(tool, `tools[${index}]`);
}

/** Known block types that a role may not use. */
const ANSWERS = ['thinking', 'redacted_thinking', 'tool_use'];
const FORBIDDEN: Record<string, readonly string[]> = {
  user: ANSWERS,
  assistant: ['tool_result', 'image'],
  system: [...ANSWERS, 'tool_result', 'image', 'document'],
};

const known = Object.keys(BLOCKS);
const TYPES_OF_ROLE = {
  user: known.filter((type) => !FORBIDDEN.user?.includes(type)),
  assistant: known.filter((type) => !FORBIDDEN.assistant?.includes(type)),
  system: known.filter((type) => !FORBIDDEN.system?.includes(type)),
};

function checkBlocks(content: Json, path: string, allowed: readonly string[]): void {
  if (!Array.isArray(content)) return;
  for (const [index, block] of content.entries()) {
    const at = `${path}[${index}]`;
    const schema = lookUp(BLOCKS, block.type);
    if (!schema) continue;
    if (!allowed.includes(block.type))
      fail(`${at}.type`, `must be one of ${allowed.join(', ')} here, not "${block.type}"`);
    const [first] = problems(schema, block);
    if (first) fail(`${at}.${first.path}`, first.message);
    if (block.type === 'tool_result') checkBlocks(block.content, `${at}.content`, RESULT_TYPES);
    if (block.type === 'document') checkBlocks(block.source.content, `${at}.source.content`, SOURCE_TYPES);
  }
}

const RESULT_TYPES = ['text', 'image', 'document', 'search_result'];
const SOURCE_TYPES = ['text', 'image'];

/** A tool of the client needs a name; a server tool is identified by its type, a deferred one has no schema. */
function checkTool(tool: Json, path: string): void {
  if (tool.type && tool.type !== 'custom') return;
  if (!tool.name) fail(`${path}.name`, 'is required');
  if (!isObject(tool.input_schema) && tool.defer_loading !== true) fail(`${path}.input_schema`, 'is required');
}

/** A tool that the conversation defines is one like those of the list. */
export function checkDefinition(tool: Json, path: string): void {
  const [first] = problems(Tool, tool);
  if (first) fail(first.path === '' ? path : `${path}.${first.path}`, first.message);
  checkTool(tool, path);
}

function fail(path: string, message: string): never {
  throw new GatewayError('invalid_request', `${path} ${message}.`, { param: path });
}
