/** Members of a Responses request that no other protocol has a place for. */

import { isObject, type Json } from '../../core/json/json.ts';
import { unreadFields } from '../../core/losses.ts';
import { HOSTED_ITEMS } from './item-schema.ts';
import { isWebSearch } from './tool-schema.ts';

const PART = new Set([
  'type', 'text', 'refusal', 'image_url', 'detail', 'file_id', 'file_data', 'file_url', 'filename', 'input_audio',
  'prompt_cache_breakpoint',
]); // biome-ignore format: a list

/** Members of items that are read, or that repeat known facts; ids identify an item at its own server. */
const ITEM = new Set([
  'type', 'id', 'role', 'content', 'status', 'phase', 'call_id', 'name', 'namespace', 'arguments', 'input', 'output',
  'summary', 'encrypted_content', 'tools', 'action', 'actions', 'operation', 'result', 'output_format', 'reasoning', 'text',
  'execution', 'created_by',
]); // biome-ignore format: a list

const TOOL = new Set(['type', 'name', 'description', 'parameters', 'strict', 'format', 'tools', 'environment']);
const ENVIRONMENT = new Set(['type']);
const SEARCH = new Set(['type', 'search_context_size', 'user_location', 'filters', 'external_web_access']);
const TEXT = new Set(['format', 'verbosity']);
const REASONING = new Set(['effort', 'summary', 'generate_summary', 'context', 'mode']);

/** Items that are left out as a whole, and named as such. */
const WHOLE = [...HOSTED_ITEMS, 'tool_search_call', 'tool_search_output'];

/** Names of unread members in items, tools and options. `tools`: of all lists. */
export function unreadInside(body: Json, tools: Json[]): string[] {
  const items: Json[] = [body.input, body.instructions].flatMap((list) => (Array.isArray(list) ? list : []));
  const read = items.filter(({ type }) => !WHOLE.includes(type));
  const names = [
    ...read.flatMap((item) => unreadFields(withoutCaller(item), ITEM, 'input.')),
    ...read.flatMap((item) => partsOf(item).flatMap((part) => unreadFields(part, PART, 'input.content.'))),
    ...tools.flatMap(unreadInTool),
    ...unreadFields(body.text, TEXT, 'text.'),
    ...unreadFields(body.reasoning, REASONING, 'reasoning.'),
  ];
  return [...new Set(names)];
}

function partsOf({ content, output, type }: Json): Json[] {
  if (type === 'reasoning') return [];
  return [content, output].flatMap((parts) => (Array.isArray(parts) ? parts.filter(isObject) : []));
}

/** Called by the model itself, as always elsewhere. */
function withoutCaller(item: Json): Json {
  if (item.caller?.type !== 'direct') return item;
  const { caller: _, ...rest } = item;
  return rest;
}

function unreadInTool(tool: Json): string[] {
  if (tool.type === 'tool_search') return [];
  if (isWebSearch(tool.type)) return unreadFields(tool, SEARCH, 'tools.web_search.');
  const inner: Json[] = tool.type === 'namespace' ? tool.tools : [];
  return [
    ...unreadFields(withoutFalse(tool), TOOL, 'tools.'),
    ...unreadFields(tool.environment, ENVIRONMENT, 'tools.environment.'),
    ...inner.flatMap(unreadInTool),
  ];
}

/** Removes members that are false. */
function withoutFalse(tool: Json): Json {
  return Object.fromEntries(Object.entries(tool).filter(([, value]) => value !== false));
}
