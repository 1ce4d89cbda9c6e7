/** Tools and tool choice of a request for an upstream: flat, without the inner objects of chat completions. */

import type { ChatRequest, Tool } from '../../core/chat.ts';
import { CUSTOM_PARAMETERS, describedCustomTool } from '../../core/custom-tool.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { toDialect } from '../../core/json/schema.ts';
import { type SchemaBudget, toolSchemaField } from '../../core/json/schema-budget.ts';
import type { ModelRules } from '../../core/model.ts';
import { defined } from '../../core/plain-objects.ts';
import { allowedTools, isForced } from '../../core/tools.ts';
import { settleWebSearch } from '../../core/web-search.ts';
import { encodeChoiceMode } from '../openai-request.ts';
import { functionParameters, strictSchema } from '../openai-strict-schema.ts';

interface ToolEncoding {
  rules: ModelRules;
  dropped: Set<string>;
  schemas: SchemaBudget;
}

/** A tool without arguments has a schema all the same. */
const NO_ARGUMENTS = { type: 'object', properties: {} };

/** The members of a body that concern tools; a list of allowed tools becomes a shorter list of tools. */
export function encodeTools(request: ChatRequest, encoding: ToolEncoding): Json {
  const { parallelCalls, toolChoice } = request;
  const tools = allowedTools(request);
  const webSearch = settleWebSearch(request, true, (name) => encoding.dropped.add(name));
  if (tools.length === 0 && isForced(toolChoice)) encoding.dropped.add('toolChoice');
  const declared = [
    ...tools.map((tool) => encodeTool(tool, encoding)),
    ...(webSearch ? [encodeWebSearch(webSearch)] : []),
  ];
  if (declared.length === 0) return {};
  return {
    tools: declared,
    ...(tools.length > 0 && {
      tool_choice: encodeChoice(request, tools, encoding),
      parallel_tool_calls: parallelCalls,
    }),
  };
}

/** `strict` is true here unless it is set, and false on other protocols. */
function encodeTool(tool: Tool, { rules, dropped, schemas }: ToolEncoding): Json {
  const { name, description, strict = false, custom } = tool;
  const parameters = functionParameters(tool.parameters);
  if (tool.cache) dropped.add('cache');
  if (custom && rules.customTools !== false)
    return defined({ type: 'custom', name, description, format: encodeFormat(custom.format) });
  if (custom) return encodeWrapped(tool, dropped);
  if (!strict || !parameters)
    return defined({ type: 'function', name, description, parameters: parameters ?? NO_ARGUMENTS, strict: false });
  const { schema, lost } = toDialect(parameters, strictSchema, { field: toolSchemaField(name), budget: schemas });
  if (lost.length > 0) dropped.add('tools.parameters');
  return defined({ type: 'function', name, description, parameters: schema, strict });
}

/** A free-text tool as a function with one text, for servers that have only functions. */
function encodeWrapped(tool: Tool, dropped: Set<string>): Json {
  if (tool.custom?.format) dropped.add('tools.custom');
  const description = describedCustomTool(tool);
  return defined({ type: 'function', name: tool.name, description, parameters: CUSTOM_PARAMETERS, strict: false });
}

/** The format of a free-text tool; the grammar is an inner object on chat completions. */
function encodeFormat(format: Json): Json {
  return isObject(format?.grammar) ? { type: 'grammar', ...format.grammar } : format;
}

function encodeWebSearch({ contextSize, location }: NonNullable<ChatRequest['webSearch']>): Json {
  const user_location = location && { type: 'approximate', ...location };
  return defined({ type: 'web_search', search_context_size: contextSize, user_location });
}

function encodeChoice({ toolChoice: choice }: ChatRequest, tools: Tool[], { rules, dropped }: ToolEncoding): Json {
  const mode = encodeChoiceMode(choice, rules, dropped);
  if (mode !== undefined || choice?.type !== 'named') return mode;
  const isCustom = rules.customTools !== false && tools.some(({ name, custom }) => custom && name === choice.name);
  return { type: isCustom ? 'custom' : 'function', name: choice.name };
}
