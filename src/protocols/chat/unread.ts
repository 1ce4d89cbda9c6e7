/** Unread members inside a client's messages, tools and options. */

import { isObject, type Json } from '../../core/json/json.ts';
import { unreadFields } from '../../core/losses.ts';

const MESSAGE = new Set([
  'role', 'content', 'name', 'refusal', 'audio', 'images', 'tool_calls', 'tool_call_id', 'function_call', 'reasoning',
  'reasoning_content', 'reasoning_details', 'cache_control', 'prompt_cache_breakpoint',
]); // biome-ignore format: a list

const PART = new Set([
  'type', 'text', 'refusal', 'thinking', 'image_url', 'video_url', 'audio_url', 'file_url', 'document_url', 'document_name',
  'input_audio', 'file', 'cache_control', 'prompt_cache_breakpoint',
]); // biome-ignore format: a list

/** Members of the objects inside of parts; several media have no more than an address. */
const ADDRESS = new Set(['url']);
const MEDIA: Record<string, ReadonlySet<string>> = {
  image_url: new Set(['url', 'detail']),
  video_url: ADDRESS,
  audio_url: ADDRESS,
  file_url: ADDRESS,
  input_audio: new Set(['data', 'format']),
  file: new Set(['file_data', 'file_id', 'filename']),
};

const TOOL = new Set(['type', 'function', 'custom', 'cache_control', 'prompt_cache_breakpoint']);
const FUNCTION = new Set(['name', 'description', 'parameters', 'strict']);
const CUSTOM = new Set(['name', 'description', 'format']);
const FORMAT = new Set(['name', 'description', 'schema', 'strict']);
const REASONING = new Set(['effort', 'max_tokens', 'enabled', 'exclude']);
const THINKING = new Set(['type', 'budget_tokens']);
const SEARCH = new Set(['search_context_size', 'user_location']);

/** Paths of members of messages and tools that the decoder does not read. */
export function unreadInside(body: Json): string[] {
  const messages: Json[] = body.messages;
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const tools: Json[] = body.tools ?? [];
  const names = [
    ...messages.flatMap((message) => unreadFields(message, MESSAGE, 'messages.')),
    ...parts.flatMap((part) => unreadFields(part, PART, 'messages.content.')),
    ...parts.flatMap(unreadInMedia),
    ...tools.flatMap((tool) => unreadFields(tool, TOOL, 'tools.')),
    ...tools.flatMap((tool) => unreadFields(tool.function, FUNCTION, 'tools.function.')),
    ...tools.flatMap((tool) => unreadFields(tool.custom, CUSTOM, 'tools.custom.')),
    ...unreadFields(body.response_format?.json_schema, FORMAT, 'response_format.json_schema.'),
    ...unreadFields(body.reasoning, REASONING, 'reasoning.'),
    ...unreadFields(isObject(body.thinking) ? body.thinking : {}, THINKING, 'thinking.'),
    ...unreadFields(body.web_search_options, SEARCH, 'web_search_options.'),
  ];
  return [...new Set(names)];
}

function unreadInMedia(part: Json): string[] {
  const known = Object.hasOwn(MEDIA, part.type) ? MEDIA[part.type] : undefined;
  const inner = part[part.type];
  return known && isObject(inner) ? unreadFields(inner, known, `messages.content.${part.type}.`) : [];
}
