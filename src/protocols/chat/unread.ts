/** Members inside a client's messages, tools and options that nothing reads. */

import type { Json } from '../../core/json/json.ts';
import { unread } from '../../core/losses.ts';

const MESSAGE = new Set([
  'role', 'content', 'name', 'refusal', 'audio', 'images', 'tool_calls', 'tool_call_id', 'function_call', 'reasoning',
  'reasoning_content', 'reasoning_details', 'cache_control', 'prompt_cache_breakpoint',
]); // biome-ignore format: a list

const PART = new Set([
  'type', 'text', 'refusal', 'thinking', 'image_url', 'video_url', 'audio_url', 'file_url', 'document_url', 'document_name',
  'input_audio', 'file', 'cache_control', 'prompt_cache_breakpoint',
]); // biome-ignore format: a list

const TOOL = new Set(['type', 'function', 'custom', 'cache_control', 'prompt_cache_breakpoint']);
const FUNCTION = new Set(['name', 'description', 'parameters', 'strict']);
const REASONING = new Set(['effort', 'max_tokens', 'enabled', 'exclude']);
const SEARCH = new Set(['search_context_size', 'user_location']);

export function unreadInside(body: Json): string[] {
  const messages: Json[] = body.messages;
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const tools: Json[] = body.tools ?? [];
  const names = [
    ...messages.flatMap((message) => unread(message, MESSAGE, 'messages.')),
    ...parts.flatMap((part) => unread(part, PART, 'messages.content.')),
    ...tools.flatMap((tool) => unread(tool, TOOL, 'tools.')),
    ...tools.flatMap((tool) => unread(tool.function, FUNCTION, 'tools.function.')),
    ...unread(body.reasoning, REASONING, 'reasoning.'),
    ...unread(body.web_search_options, SEARCH, 'web_search_options.'),
  ];
  return [...new Set(names)];
}
