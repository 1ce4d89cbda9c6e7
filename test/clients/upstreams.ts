/** One provider of each protocol: it thinks and calls a tool, and once it has the result it says so. */

import type { ServerResponse } from 'node:http';
import type { Json } from '../../src/core/json.ts';
import { answerEvents, answerJson, type ProtocolId, startUpstream, type TestUpstream } from '../gateway/harness.ts';

export const THOUGHT = 'I must look. 🤔';
export const SIGNATURE = 'c2lnbmF0dXJl';
export const ARGS = { city: 'Zürich' };
export const TEXT = 'Sunny in Zürich 🦊';
/** Tokens of every answer. */
export const USAGE = { input: 10, output: 5 };

interface Wire {
  whole(done: boolean): Json;
  stream(done: boolean): string;
}

const chat: Wire = {
  whole(done) {
    const message = done ? { content: TEXT } : { content: null, reasoning_content: THOUGHT, tool_calls: [chatCall()] };
    const choice = {
      index: 0,
      message: { role: 'assistant', ...message },
      finish_reason: done ? 'stop' : 'tool_calls',
    };
    return { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage: chatUsage };
  },
  stream(done) {
    const [start = '', rest = ''] = [THOUGHT.slice(0, 4), THOUGHT.slice(4)];
    const call = { index: 0, ...chatCall() };
    const deltas = done
      ? [{ content: TEXT.slice(0, 5) }, { content: TEXT.slice(5) }]
      : [{ reasoning_content: start }, { reasoning_content: rest }, { tool_calls: [call] }];
    const chunks = [{ role: 'assistant', content: '' }, ...deltas].map((delta) => [{ index: 0, delta }]);
    const last = [{ index: 0, delta: {}, finish_reason: done ? 'stop' : 'tool_calls' }];
    const envelope = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
    const frames = [...chunks, last].map((choices): Json => ({ ...envelope, choices }));
    frames.push({ ...envelope, choices: [], usage: chatUsage });
    return `${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`;
  },
};

const chatUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function chatCall(): Json {
  return { id: 'call_1', type: 'function', function: { name: 'weather', arguments: JSON.stringify(ARGS) } };
}

const messagesUsage = { input_tokens: 10, output_tokens: 5 };

const messages: Wire = {
  whole(done) {
    const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: ARGS };
    const thinking = { type: 'thinking', thinking: THOUGHT, signature: SIGNATURE };
    const content = done ? [{ type: 'text', text: TEXT }] : [thinking, call];
    const stop = { stop_reason: done ? 'end_turn' : 'tool_use', stop_sequence: null };
    return { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content, ...stop, usage: messagesUsage };
  },
  stream(done) {
    const { content, stop_reason, ...message } = messages.whole(done);
    const events: Json[] = [{ type: 'message_start', message: { ...message, content: [], stop_reason: null } }];
    content.forEach((block: Json, index: number) => {
      events.push({ type: 'content_block_start', index, content_block: emptied(block) });
      for (const delta of deltasOf(block)) events.push({ type: 'content_block_delta', index, delta });
      events.push({ type: 'content_block_stop', index });
    });
    events.push({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: messagesUsage });
    events.push({ type: 'message_stop' });
    return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  },
};

function emptied(block: Json): Json {
  if (block.type === 'tool_use') return { ...block, input: {} };
  return block.type === 'text' ? { ...block, text: '' } : { ...block, thinking: '', signature: '' };
}

function deltasOf(block: Json): Json[] {
  if (block.type === 'text') return [{ type: 'text_delta', text: block.text }];
  if (block.type === 'tool_use') return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }];
  return [
    { type: 'thinking_delta', thinking: block.thinking },
    { type: 'signature_delta', signature: block.signature },
  ];
}

const generate: Wire = {
  whole(done) {
    const call = { functionCall: { name: 'weather', args: ARGS }, thoughtSignature: SIGNATURE };
    const parts = done ? [{ text: TEXT }] : [{ text: THOUGHT, thought: true }, call];
    return generateChunk(parts, { finishReason: 'STOP' });
  },
  stream(done) {
    const { parts } = generate.whole(done).candidates[0].content;
    const chunks = [
      ...parts.map((part: Json) => generateChunk([part])),
      generateChunk([{ text: '' }], { finishReason: 'STOP' }),
    ];
    return chunks.map((chunk: Json) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join('');
  },
};

function generateChunk(parts: Json[], finish: Json = {}): Json {
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 15 };
  return { candidates: [{ index: 0, content: { role: 'model', parts }, ...finish }], usageMetadata, modelVersion: 'm' };
}

const WIRES: Record<ProtocolId, Wire> = { chat, messages, generate };
const RESULT_MARKS: Record<ProtocolId, string> = {
  chat: '"role":"tool"',
  messages: '"tool_result"',
  generate: '"functionResponse"',
};

export function startProvider(protocol: ProtocolId): Promise<TestUpstream> {
  return startUpstream((call, response: ServerResponse) => {
    const done = call.bytes.includes(RESULT_MARKS[protocol]);
    const streams = call.body.stream === true || call.path.includes(':stream');
    if (streams) answerEvents(response, WIRES[protocol].stream(done));
    else answerJson(response, WIRES[protocol].whole(done));
  });
}
