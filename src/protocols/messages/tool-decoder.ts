/** Tools and tool choices of a client of the messages protocol. */

import type { ChatRequest, Tool, ToolChoice } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { unreadFields } from '../../core/losses.ts';
import { decodeMark } from './cache.ts';
import { checkDefinition } from './schema.ts';

/** Members of a search tool that are read; the others tune it. */
const SEARCH = new Set(['type', 'name', 'user_location']);

/** Throws `unsupported_tool` for tools that only the provider that defines them can run. */
export function decodeTools(body: Json, request: ChatRequest): void {
  const tools = toolsOf(body);
  for (const tool of tools) {
    if (isWebSearch(tool)) decodeSearch(tool, request);
    else if (tool.type && tool.type !== 'custom') refuse(tool);
    else if (!isObject(tool.input_schema)) request.dropped.push(`tools.${tool.name}`);
    else request.tools.push(decodeTool(tool));
  }
  const choice = body.tool_choice;
  if (!isObject(choice)) return;
  if (forcesSearch(choice, tools)) request.dropped.push('tool_choice');
  else request.toolChoice = decodeChoice(choice);
  if (choice.disable_parallel_tool_use === true) request.parallelCalls = false;
}

/** Tools of the list, and those that the conversation defines, which elsewhere are there from its beginning. The last one of a name counts. */
export function toolsOf({ tools, messages }: Json): Json[] {
  const defined = new Map<string, Json>();
  for (const [definition, index] of definitionsIn(messages)) {
    checkDefinition(definition, `messages[${index}].content.tool.definition`);
    defined.set(definition.name ?? definition.type, definition);
  }
  return [...(tools ?? []).filter(({ name }: Json) => !defined.has(name)), ...defined.values()];
}

/** Definitions of tools in a conversation, each with the index of its message. */
export function* definitionsIn(messages: Json): Generator<[definition: Json, index: number]> {
  const count = Array.isArray(messages) ? messages.length : 0;
  for (let index = 0; index < count; index++) {
    const content = messages[index]?.content;
    if (!Array.isArray(content)) continue;
    for (let place = 0; place < content.length; place++) {
      const block = content[place];
      if (definesTool(block)) yield [block.tool.definition, index];
      // Changes that a summary keeps.
      if (block?.type === 'compaction' && Array.isArray(block.tool_changes))
        for (const change of block.tool_changes) if (definesTool(change)) yield [change.tool.definition, index];
    }
  }
}

/** Whether a block adds a tool by its definition, not by the name of one in the list. */
function definesTool(block: Json): boolean {
  return block?.type === 'tool_addition' && block.tool?.type === 'tool_definition';
}

/** Whether a tool is a hosted web search, of any version. */
export function isWebSearch(tool: Json): boolean {
  return typeof tool?.type === 'string' && /^web_search_\d+$/.test(tool.type);
}

function decodeTool(tool: Json): Tool {
  const decoded: Tool = { name: tool.name, parameters: tool.input_schema };
  if (typeof tool.description === 'string' && tool.description !== '') decoded.description = tool.description;
  if (typeof tool.strict === 'boolean') decoded.strict = tool.strict;
  const cache = decodeMark(tool.cache_control);
  if (cache) decoded.cache = cache;
  return decoded;
}

function decodeSearch(tool: Json, request: ChatRequest): void {
  const { type: _, ...location } = tool.user_location ?? {};
  request.webSearch = Object.keys(location).length > 0 ? { location } : {};
  request.dropped.push(...unreadFields(tool, SEARCH, `tools.${tool.name}.`));
}

function refuse(tool: Json): never {
  const message = `The tool ${tool.type} only works with the model's own provider; this model is reached through another protocol.`;
  throw new GatewayError('unsupported_tool', message, { param: 'tools' });
}

/** No other protocol can name a search as its choice. */
function forcesSearch({ type, name }: Json, tools: Json): boolean {
  return type === 'tool' && tools.some((tool: Json) => isWebSearch(tool) && tool.name === name);
}

function decodeChoice(choice: Json): ToolChoice {
  switch (choice.type) {
    case 'any':
      return { type: 'required' };
    case 'tool':
      return { type: 'named', name: choice.name };
    case 'none':
      return { type: 'none' };
    default:
      return { type: 'auto' };
  }
}
