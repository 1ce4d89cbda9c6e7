/** One provider of each protocol: it thinks and calls tools, as often as it is told, and once it has the results it says so. */

import type { ServerResponse } from 'node:http';
import type { Json } from '../../src/core/json/json.ts';
import { answerEvents, answerJson, type ProtocolId, startUpstream, type TestUpstream } from '../gateway/harness.ts';
import { isAnswered, refusesHistory, responses } from './responses-provider.ts';

export const THOUGHT = 'I must look. 🤔';
export const SIGNATURE = 'c2lnbmF0dXJl';
export const ARGS = { city: 'Zürich' };
export const TEXT = 'Sunny in Zürich 🦊';
/** Tokens of every answer. */
export const USAGE = { input: 10, output: 5 };

interface Call {
  /** Providers of generate don't give it. */
  id: string;
  name: string;
  args: Json;
}

/** What a provider does in a turn: it thinks and calls, or it ends. */
export type Step = { thought: string; signature: string; calls: Call[] } | { text: string };

const STEPS: Step[] = [
  { thought: THOUGHT, signature: SIGNATURE, calls: [{ id: 'call_1', name: 'weather', args: ARGS }] },
  { text: TEXT },
];

/** Answers of a protocol to a request's body. */
export interface Wire {
  whole(step: Step, body: Json): Json;
  stream(step: Step, body: Json): string;
}

/** Protocols that a provider may speak alone. */
export type UpstreamProtocol = ProtocolId | 'responses';

const chat: Wire = {
  whole(step) {
    const message =
      'text' in step
        ? { content: step.text }
        : { content: null, reasoning_content: step.thought, tool_calls: chatCalls(step) };
    const finish_reason = 'text' in step ? 'stop' : 'tool_calls';
    const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason };
    return { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice], usage: chatUsage };
  },
  stream(step) {
    const deltas =
      'text' in step
        ? halves(step.text).map((content) => ({ content }))
        : [
            ...halves(step.thought).map((reasoning_content) => ({ reasoning_content })),
            ...chatCalls(step).map((call, index) => ({ tool_calls: [{ index, ...call }] })),
          ];
    const chunks = [{ role: 'assistant', content: '' }, ...deltas].map((delta) => [
      { index: 0, delta, finish_reason: null },
    ]);
    const last = [{ index: 0, delta: {}, finish_reason: 'text' in step ? 'stop' : 'tool_calls' }];
    const envelope = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
    const frames = [...chunks, last].map((choices): Json => ({ ...envelope, choices }));
    frames.push({ ...envelope, choices: [], usage: chatUsage });
    return `${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`;
  },
};

function halves(text: string): string[] {
  return [text.slice(0, 5), text.slice(5)];
}

const chatUsage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function chatCalls({ calls }: { calls: Call[] }): Json[] {
  return calls.map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
}

const messagesUsage = { input_tokens: 10, output_tokens: 5 };

const messages: Wire = {
  whole(step) {
    const stop = { stop_reason: 'text' in step ? 'end_turn' : 'tool_use', stop_sequence: null };
    const content = messagesContent(step);
    return { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content, ...stop, usage: messagesUsage };
  },
  stream(step, body) {
    const { content, stop_reason, ...message } = messages.whole(step, body);
    const usage = { ...messagesUsage, output_tokens: 0 };
    const events: Json[] = [{ type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } }];
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

function messagesContent(step: Step): Json[] {
  if ('text' in step) return [{ type: 'text', text: step.text }];
  const { thought, signature, calls } = step;
  const uses = calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }));
  return [{ type: 'thinking', thinking: thought, signature }, ...uses];
}

function emptied(block: Json): Json {
  if (block.type === 'tool_use') return { ...block, input: {} };
  return block.type === 'text' ? { ...block, text: '' } : { ...block, thinking: '', signature: '' };
}

function deltasOf(block: Json): Json[] {
  if (block.type === 'text') return [{ type: 'text_delta', text: block.text }];
  if (block.type === 'tool_use') return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }];
  return [
    ...halves(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
    { type: 'signature_delta', signature: block.signature },
  ];
}

const generate: Wire = {
  whole: (step) => generateChunk(generateParts(step), { finishReason: 'STOP' }),
  stream(step) {
    const chunks = [
      ...generateParts(step)
        .flatMap((part) => (part.thought ? halves(part.text).map((text) => ({ ...part, text })) : [part]))
        .map((part) => generateChunk([part])),
      generateChunk([{ text: '' }], { finishReason: 'STOP' }),
    ];
    return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join('');
  },
};

/** Of parallel calls only the first is signed. */
function generateParts(step: Step): Json[] {
  if ('text' in step) return [{ text: step.text }];
  const { thought, signature, calls } = step;
  const parts = calls.map(({ name, args }, index) => ({
    functionCall: { name, args },
    ...(index === 0 && { thoughtSignature: signature }),
  }));
  return [{ text: thought, thought: true }, ...parts];
}

function generateChunk(parts: Json[], finish: Json = {}): Json {
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 15 };
  return { candidates: [{ index: 0, content: { role: 'model', parts }, ...finish }], usageMetadata, modelVersion: 'm' };
}

const WIRES: Record<UpstreamProtocol, Wire> = { chat, messages, generate, responses };

/** Answers with the step that follows the turns it is handed back. */
export function startProvider(protocol: UpstreamProtocol, steps = STEPS): Promise<TestUpstream> {
  return startUpstream(({ body, path }, response: ServerResponse) => {
    if (protocol === 'responses' && refusesHistory(response, body)) return;
    const turns: Json[] = [body.messages ?? body.contents ?? body.input].flat();
    const isAnswer = (turn: Json) => turn !== undefined && (turn.role === 'model' || isAnswered(turn));
    // Some clients keep an answer in pieces.
    const done = turns.filter((turn, index) => isAnswer(turn) && !isAnswer(turns[index - 1])).length;
    const step = steps[done] ?? { text: 'too many turns' };
    const wire = WIRES[protocol];
    if (body.stream === true || path.includes(':stream')) answerEvents(response, wire.stream(step, body));
    else answerJson(response, wire.whole(step, body));
  });
}
