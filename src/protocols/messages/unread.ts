/** Unread members of a client's body. */

import { isObject, type Json } from '../../core/json/json.ts';
import { unreadFields } from '../../core/losses.ts';
import { toolsOf } from './tool-decoder.ts';

const BODY = new Set([
  'model', 'messages', 'max_tokens', 'system', 'stream', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'tools',
  'tool_choice', 'thinking', 'output_config', 'output_format', 'cache_control', 'metadata', 'service_tier', 'speed',
  'container', 'mcp_servers', 'thread', 'provider', 'models',
]); // biome-ignore format: a list

const TURN = new Set(['role', 'content']);
const SYSTEM_TURN = new Set([...TURN, 'output_config']);
const TURN_OUTPUT = new Set(['effort']);
const OUTPUT = new Set(['effort', 'format']);
const FORMAT = new Set(['type', 'schema']);
const THINKING = new Set(['type', 'budget_tokens', 'display']);
const DISPLAYS = [undefined, 'summarized', 'omitted'];
const METADATA = new Set(['user_id']);
const TOOL = new Set(['type', 'name', 'description', 'input_schema', 'strict', 'cache_control']);

/** A text in a search result or a document. */
const TEXT = new Set(['type', 'text']);

/** By type; blocks of other types are kept whole or refused. */
const BLOCKS: Record<string, ReadonlySet<string>> = {
  text: new Set(['type', 'text', 'citations', 'cache_control']),
  image: new Set(['type', 'source', 'cache_control']),
  document: new Set(['type', 'source', 'title', 'context', 'citations', 'cache_control']),
  search_result: new Set(['type', 'source', 'title', 'content', 'cache_control']),
  thinking: new Set(['type', 'thinking', 'signature']),
  redacted_thinking: new Set(['type', 'data']),
  tool_use: new Set(['type', 'id', 'name', 'input', 'cache_control']),
  tool_result: new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control']),
  compaction: new Set(['type', 'content', 'cache_control']),
};

/** Paths of members that the decoder does not read. */
export function unreadIn(body: Json): string[] {
  const { messages, system, thinking, metadata, output_config: output } = body;
  const tools: Json[] = toolsOf(body).filter((tool) => isObject(tool.input_schema));
  const format = output?.format ?? body.output_format;
  const names = [
    ...unreadFields(body, BODY),
    ...unreadFields(thinking, THINKING, 'thinking.'),
    ...(DISPLAYS.includes(thinking?.display ?? undefined) ? [] : ['thinking.display']),
    ...unreadFields(output, OUTPUT, 'output_config.'),
    ...unreadFields(format, FORMAT, 'output_config.format.'),
    ...unreadFields(metadata, METADATA, 'metadata.'),
    ...tools.flatMap((tool) => unreadFields(tool, TOOL, 'tools.')),
    ...unreadInBlocks(system, 'system.'),
    ...messages.flatMap(unreadInTurn),
    ...messages.flatMap((turn: Json) => unreadInBlocks(turn.content, 'messages.content.')),
  ];
  return [...new Set(names)];
}

function unreadInTurn(turn: Json): string[] {
  if (turn.role !== 'system') return unreadFields(turn, TURN, 'messages.');
  return [
    ...unreadFields(turn, SYSTEM_TURN, 'messages.'),
    ...unreadFields(turn.output_config, TURN_OUTPUT, 'messages.output_config.'),
  ];
}

function unreadInBlocks(content: Json, prefix: string): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((block) => {
    const known = Object.hasOwn(BLOCKS, block.type) ? BLOCKS[block.type] : undefined;
    if (!known) return [];
    return [...unreadFields(withoutCaller(block), known, prefix), ...unreadInside(block, prefix)];
  });
}

/** Called by the model itself, as always elsewhere. */
function withoutCaller(block: Json): Json {
  if (block.caller?.type !== 'direct') return block;
  const { caller: _, ...rest } = block;
  return rest;
}

/** Search results, and documents of texts alone, become one text. */
function unreadInside({ type, content, source }: Json, prefix: string): string[] {
  switch (type) {
    case 'tool_result':
      return unreadInBlocks(content, `${prefix}content.`);
    case 'search_result':
      return unreadInTexts(content, `${prefix}content.`);
    case 'document': {
      if (!Array.isArray(source.content)) return [];
      const isText = source.content.every((block: Json) => block.type === 'text');
      return (isText ? unreadInTexts : unreadInBlocks)(source.content, `${prefix}source.content.`);
    }
    default:
      return [];
  }
}

function unreadInTexts(texts: Json[], prefix: string): string[] {
  return texts.flatMap((text) => unreadFields(text, TEXT, prefix));
}
