/** Tool definitions and choices, in both directions. */

import type { ChatRequest, Tool, ToolChoice } from '../../core/chat.ts';
import { CUSTOM_PARAMETERS, describedCustomTool } from '../../core/custom-tool.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { toDialect } from '../../core/json/schema.ts';
import { type SchemaBudget, toolSchemaField } from '../../core/json/schema-budget.ts';
import type { ModelRules } from '../../core/model.ts';
import type { ToolName } from '../../core/tool-name.ts';
import { allowedTools, isForced } from '../../core/tools.ts';
import { encodeChoiceMode } from '../openai-request.ts';
import { functionParameters, strictSchema } from '../openai-strict-schema.ts';
import { decodeCache } from './media.ts';

export const TOOL_NAME = '^[a-zA-Z0-9_-]{1,64}$';

export function decodeTools(body: Json): Tool[] {
  const tools: Tool[] = (body.tools ?? []).map(decodeTool);
  const legacy: Tool[] = (body.functions ?? []).map((definition: Json) => decodeFunction(definition));
  return [...tools, ...legacy];
}

function decodeTool(tool: Json, index: number): Tool {
  if (tool.function && (tool.type ?? 'function') === 'function') {
    return { ...decodeFunction(tool.function), ...decodeCache(tool) };
  }
  if (tool.type === 'custom') {
    const { name, description, format } = tool.custom;
    return { name, ...(description && { description }), custom: { ...(format && { format }) }, ...decodeCache(tool) };
  }
  const path = `tools[${index}]`;
  throw new GatewayError(
    'unsupported_tool',
    `${path} is of the type ${tool.type}, a tool that only its own provider runs.`,
    {
      param: `${path}.type`,
    },
  );
}

function decodeFunction({ name, description, parameters, strict }: Json): Tool {
  return {
    name,
    ...(description && { description }),
    ...(parameters && { parameters }),
    ...(typeof strict === 'boolean' && { strict }),
  };
}

/** `tool_choice`, or `function_call` of old clients. */
export function decodeToolChoice(body: Json): ToolChoice | undefined {
  const choice = body.tool_choice ?? body.function_call ?? undefined;
  switch (choice) {
    case undefined:
      return undefined;
    case 'none':
    case 'auto':
    case 'required':
      return { type: choice };
    case 'any':
      return { type: 'required' };
  }
  if (choice.type === 'allowed_tools') {
    const { mode, tools } = choice.allowed_tools;
    return { type: 'allowed', tools: tools.map(allowedTool), required: mode === 'required' };
  }
  return { type: 'named', name: nameOf(choice) };
}

function nameOf(choice: Json): string {
  return choice.function?.name ?? choice.custom?.name ?? choice.name;
}

function allowedTool(tool: Json, index: number): ToolName {
  const name: unknown = nameOf(tool);
  if (typeof name === 'string') return { name };
  const path = `tool_choice.allowed_tools.tools[${index}]`;
  throw new GatewayError('invalid_request', `${path} must name a function or a custom tool.`, { param: path });
}

interface Encoding {
  /** Names of dropped fields. */
  dropped: Set<string>;
  schemas: SchemaBudget;
}

/** The members of a body that concern tools; a list of allowed tools becomes a shorter list of tools. */
export function encodeTools(request: ChatRequest, rules: ModelRules, encoding: Encoding): Json {
  const { toolChoice } = request;
  const { dropped } = encoding;
  const tools = allowedTools(request);
  if (tools.length === 0) {
    if (isForced(toolChoice)) dropped.add('toolChoice');
    return {};
  }
  return {
    tools: tools.map((tool) => encodeTool(tool, rules, encoding)),
    tool_choice: encodeToolChoice(toolChoice, tools, rules, dropped),
    parallel_tool_calls: request.parallelCalls,
  };
}

function encodeTool(tool: Tool, rules: ModelRules, { dropped, schemas }: Encoding): Json {
  const { name, description, strict } = tool;
  if (tool.cache && rules.cacheMarks !== 'cache_control') dropped.add('cache');
  const mark = tool.cache && rules.cacheMarks === 'cache_control' ? { cache_control: cacheControl(tool.cache) } : {};
  if (tool.custom && rules.customTools)
    return { type: 'custom', custom: { name, description, format: tool.custom.format } };
  if (tool.custom) {
    if (tool.custom.format) dropped.add('tools.custom');
    return {
      type: 'function',
      function: { name, description: describedCustomTool(tool), parameters: CUSTOM_PARAMETERS },
      ...mark,
    };
  }
  let parameters = functionParameters(tool.parameters);
  if (strict && parameters) {
    const { schema, lost } = toDialect(parameters, strictSchema, { field: toolSchemaField(name), budget: schemas });
    parameters = schema;
    if (lost.length > 0) dropped.add('tools.parameters');
  }
  return { type: 'function', function: { name, description, parameters, strict }, ...mark };
}

/** `cache_control` of servers that take the marks of the messages protocol; only its two lifetimes are supported. */
export function cacheControl({ ttl }: { ttl?: string }): Json {
  return { type: 'ephemeral', ...(ttl && { ttl: ttl === '5m' ? '5m' : '1h' }) };
}

function encodeToolChoice(
  choice: ToolChoice | undefined,
  tools: Tool[],
  rules: ModelRules,
  dropped: Set<string>,
): Json {
  const mode = encodeChoiceMode(choice, rules, dropped);
  if (mode !== undefined || choice?.type !== 'named') return mode;
  const isCustom = rules.customTools && tools.some((tool) => tool.custom && tool.name === choice.name);
  const kind = isCustom ? 'custom' : 'function';
  return { type: kind, [kind]: { name: choice.name } };
}
