/** Tools and tool choices of a Responses client. */

import type { ChatRequest, Tool, ToolChoice } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { MAX_NAME_CHARACTERS, shortened } from '../../core/lengths.ts';
import type { ToolName } from '../../core/tool-name.ts';
import { toolKey } from '../../core/tools.ts';
import { builtInTool } from './built-in-calls.ts';
import { isWebSearch } from './tool-schema.ts';

export interface DecodedTools extends Pick<ChatRequest, 'toolChoice' | 'webSearch'> {
  tools: Tool[];
  dropped: string[];
}

/** A list of tools, and its path in the body. */
export interface ToolList {
  tools: Json[];
  path: string;
}

/** The tools of all lists; of those with the same name the first counts. Throws `unsupported_tool` for tools that only their provider runs. */
export function decodeTools(lists: ToolList[], choice: Json): DecodedTools {
  const decoded: DecodedTools = { tools: [], dropped: [] };
  const known = new Set<string>();
  for (const { tools, path } of lists) {
    for (const [index, tool] of tools.entries()) {
      for (const one of decodeTool(tool, `${path}[${index}]`, decoded)) {
        if (known.has(toolKey(one))) continue;
        known.add(toolKey(one));
        decoded.tools.push(one);
      }
    }
  }
  if (decoded.webSearch && decoded.tools.length > 0) decoded.webSearch.optional = true;
  decoded.toolChoice = decodeToolChoice(choice, decoded);
  return decoded;
}

function decodeTool(tool: Json, path: string, decoded: DecodedTools): Tool[] {
  const { type } = tool;
  if (isWebSearch(type)) {
    decoded.webSearch = decodeSearch(tool, decoded.dropped);
    return [];
  }
  const builtIn = type === 'shell' && isContainer(tool) ? undefined : builtInTool(type);
  if (builtIn) return [builtIn];
  switch (type) {
    case 'function':
    case 'custom':
      return [decodeNamed(tool, {})];
    case 'namespace': {
      const about = { namespace: tool.name, ...(tool.description && { namespaceDescription: tool.description }) };
      return tool.tools.map((inner: Json) => decodeNamed(inner, about));
    }
    case 'tool_search':
      decoded.dropped.push('tools.tool_search');
      return [];
    default:
      throw unsupportedTool(`${path}.type`, type);
  }
}

function decodeNamed(tool: Json, about: Pick<Tool, 'namespace' | 'namespaceDescription'>): Tool {
  const { type, name, description, parameters, strict, format } = tool;
  return {
    name,
    ...about,
    ...(description && { description }),
    ...(type === 'custom'
      ? { custom: customFormat(format) }
      : { ...(parameters && { parameters }), ...strictness(strict, parameters) }),
  };
}

/** The format in the form of chat completions, where a grammar is an inner object. */
function customFormat(format: Json): { format?: Json } {
  if (format?.type !== 'grammar') return {};
  const { syntax, definition } = format;
  return { format: { type: 'grammar', grammar: { syntax, definition } } };
}

/** A function is strict unless the client says otherwise, if its schema allows it; null says otherwise. */
function strictness(strict: Json, parameters: Json): { strict?: boolean } {
  if (strict === null) return { strict: false };
  if (strict !== undefined) return { strict };
  return isObject(parameters) && isClosed(parameters) ? { strict: true } : {};
}

/** Whether all objects of a schema have only required properties. */
function isClosed(schema: Json): boolean {
  if (!isObject(schema)) return true;
  const { properties, required, additionalProperties, items, anyOf, $defs } = schema;
  const inside: Json[] = [...Object.values(properties ?? {}), items, ...(anyOf ?? []), ...Object.values($defs ?? {})];
  if (!inside.every(isClosed)) return false;
  if (schema.type !== 'object') return !properties;
  if (additionalProperties !== false) return false;
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  return Object.keys(properties ?? {}).every((name) => needed.has(name));
}

const CONTEXT_SIZES = ['low', 'medium', 'high'];

function decodeSearch(tool: Json, dropped: string[]): NonNullable<ChatRequest['webSearch']> {
  const { type: _, ...place } = tool.user_location ?? {};
  const location = Object.fromEntries(Object.entries(place).filter(([, value]) => value));
  const hasFilters = Object.values(tool.filters ?? {}).some((value) => Array.isArray(value) && value.length > 0);
  if (hasFilters) dropped.push('tools.web_search.filters');
  if (tool.external_web_access === false) dropped.push('tools.web_search.external_web_access');
  return {
    ...(CONTEXT_SIZES.includes(tool.search_context_size) && { contextSize: tool.search_context_size }),
    ...(Object.keys(location).length > 0 && { location }),
  };
}

/** A shell in a container of the provider. */
function isContainer({ environment }: Json): boolean {
  return isObject(environment) && environment.type !== 'local';
}

function decodeToolChoice(choice: Json, decoded: DecodedTools): ToolChoice | undefined {
  const { webSearch } = decoded;
  if (choice === undefined || choice === null) return undefined;
  if (choice === 'none' || choice === 'auto' || choice === 'required') return { type: choice };
  if (choice.type === 'allowed_tools') {
    const allowed: Json[] = choice.tools;
    if (!allowed.some(({ type }) => isWebSearch(type))) delete decoded.webSearch;
    const spaces = Map.groupBy(decoded.tools, ({ namespace }) => namespace);
    const tools = allowed.flatMap((entry, index) => allowedTools(entry, `tool_choice.tools[${index}]`, spaces));
    return { type: 'allowed', tools, required: choice.mode === 'required' };
  }
  if (isWebSearch(choice.type) && webSearch) {
    delete webSearch.optional;
    decoded.dropped.push('tool_choice');
    return undefined;
  }
  return { type: 'named', ...nameIn(choice, 'tool_choice') };
}

/** `spaces`: tools by their namespaces, of which each is taken once. */
function allowedTools(entry: Json, path: string, spaces: Map<string | undefined, Tool[]>): ToolName[] {
  if (isWebSearch(entry.type)) return [];
  if (entry.type !== 'namespace') return [nameIn(entry, path)];
  const tools = spaces.get(entry.name) ?? [];
  spaces.delete(entry.name);
  return tools.map(({ name, namespace }) => ({ name, namespace }) as ToolName);
}

function nameIn({ type, name, namespace }: Json, path: string): ToolName {
  const builtIn = builtInTool(type);
  if (builtIn) return { name: builtIn.name };
  if (type !== 'function' && type !== 'custom') throw unsupportedTool(`${path}.type`, type);
  if (typeof name !== 'string') {
    throw new GatewayError('invalid_request', `${path}.name must be the name of a tool.`, { param: `${path}.name` });
  }
  return { name, ...(typeof namespace === 'string' && { namespace }) };
}

function unsupportedTool(param: string, type: unknown): GatewayError {
  const named = JSON.stringify(shortened(String(type), MAX_NAME_CHARACTERS));
  return new GatewayError('unsupported_tool', `${param} is ${named}, a tool that only its own provider runs.`, {
    param,
  });
}
