/** Messages, as their clients read them. */

import { type Json, read } from '../../../src/core/json/json.ts';
import {
  type Answer,
  BROKEN,
  type Counts,
  canonical,
  type End,
  emptyChoice,
  eventsIn,
  type Reader,
  unique,
} from '../answer.ts';

export const ENDS: Record<string, End> = {
  end_turn: 'stop',
  stop_sequence: 'stop-sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'context-full',
  tool_use: 'calls',
  refusal: 'refused',
  pause_turn: 'paused',
  compaction: 'paused',
};

function readBody(body: Json): Answer {
  const blocks: Json[] = body.content ?? [];
  const choice = emptyChoice();
  choice.text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('');
  choice.reasoning = blocks.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
  choice.calls = blocks
    .filter((block) => block.type === 'tool_use')
    .map(({ name, input }) => ({ name, args: typeof input === 'string' ? `${BROKEN} ${input}` : canonical(input) }));
  choice.citations = unique(blocks.flatMap((block) => (block.citations ?? []).map(sourceOf)));
  choice.end = ENDS[body.stop_reason] ?? 'abnormal';
  if (typeof body.stop_sequence === 'string') choice.stopSequence = body.stop_sequence;
  return { choices: [choice], counts: countsOf(body.usage) };
}

function sourceOf(citation: Json): string {
  const address = citation.url ?? citation.source;
  return address?.includes('://') ? address : `“${citation.cited_text}”`;
}

function countsOf(usage: Json): Counts | undefined {
  if (!usage) return undefined;
  const rounds: Json[] = (usage.iterations ?? []).filter((round: Json) =>
    ['compaction', 'advisor_message'].includes(round.type),
  );
  const sum = (name: string) => [usage, ...rounds].reduce((total, round) => total + (round[name] ?? 0), 0);
  const cached = sum('cache_read_input_tokens');
  const cacheWrite = sum('cache_creation_input_tokens');
  const reasoning = usage.output_tokens_details?.thinking_tokens ?? 0;
  return {
    input: sum('input_tokens') + cached + cacheWrite,
    output: sum('output_tokens'),
    cached,
    cacheWrite,
    reasoning,
  };
}

function join(text: string): Json {
  let message: Json;
  let stopped = false;
  const fragments: string[] = [];
  for (const { event, data } of eventsIn(text)) {
    if (stopped) break;
    if (event === undefined) continue;
    const frame = read(data);
    if (event !== frame.type) throw new Error(`event ${event} holds ${frame.type}`);
    switch (frame.type) {
      case 'message_start':
        message = frame.message;
        break;
      case 'content_block_start':
        if (frame.index !== message.content.length) throw new Error(`block ${frame.index} out of order`);
        message.content.push(frame.content_block);
        break;
      case 'content_block_delta':
        grow(message.content[frame.index], frame.delta, fragments, frame.index);
        break;
      case 'content_block_stop':
        complete(message.content[frame.index], fragments[frame.index]);
        break;
      case 'message_delta':
        for (const [name, value] of Object.entries(frame.delta)) message[name] = value;
        for (const [name, value] of Object.entries(frame.usage ?? {})) if (value !== null) message.usage[name] = value;
        break;
      case 'message_stop':
        complete(message.content.at(-1), fragments[message.content.length - 1]);
        stopped = true;
        break;
      case 'error':
        throw new Error(`error: ${JSON.stringify(frame.error)}`);
    }
  }
  if (!stopped) throw new Error('no message_stop');
  return message;
}

/** Arguments that the output limit broke off stay text. */
function complete(block: Json, json: string | undefined): void {
  if (!json || !block) return;
  try {
    block.input = read(json);
  } catch {
    block.input = json;
  }
}

function grow(block: Json, delta: Json, fragments: string[], index: number): void {
  switch (delta.type) {
    case 'text_delta':
      block.text += delta.text;
      break;
    case 'thinking_delta':
      block.thinking += delta.thinking;
      break;
    case 'signature_delta':
      block.signature = delta.signature;
      break;
    case 'citations_delta':
      block.citations = [...(block.citations ?? []), delta.citation];
      break;
    case 'input_json_delta':
      fragments[index] = (fragments[index] ?? '') + delta.partial_json;
      break;
  }
}

function split(body: Json): string {
  const { content, stop_reason, stop_sequence, stop_details, container, usage, ...rest } = body;
  const frames: Json[] = [
    {
      type: 'message_start',
      message: { ...rest, content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } },
    },
  ];
  for (const [index, block] of content.entries()) {
    const { start, deltas } = pieces(block);
    frames.push({ type: 'content_block_start', index, content_block: start });
    frames.push(...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })));
    frames.push({ type: 'content_block_stop', index });
  }
  const delta = { stop_reason, stop_sequence, ...(stop_details && { stop_details }), ...(container && { container }) };
  frames.push({ type: 'message_delta', delta, usage }, { type: 'message_stop' });
  return frames.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join('');
}

function pieces(block: Json): { start: Json; deltas: Json[] } {
  switch (block.type) {
    case 'text': {
      const { citations, ...rest } = block;
      const cited = (citations ?? []).map((citation: Json) => ({ type: 'citations_delta', citation }));
      return { start: { ...rest, text: '' }, deltas: [...cited, { type: 'text_delta', text: block.text }] };
    }
    case 'thinking': {
      const thought = { type: 'thinking_delta', thinking: block.thinking };
      const signed = { type: 'signature_delta', signature: block.signature };
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: block.thinking ? [thought, signed] : [signed],
      };
    }
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use': {
      const partial_json = JSON.stringify(block.input);
      const middle = Math.floor(partial_json.length / 2);
      const fragments = [partial_json.slice(0, middle), partial_json.slice(middle)];
      const deltas = fragments.map((fragment) => ({ type: 'input_json_delta', partial_json: fragment }));
      return { start: { ...block, input: {} }, deltas };
    }
    default:
      return { start: block, deltas: [] };
  }
}

export const messages: Reader = { read: readBody, join, split };
