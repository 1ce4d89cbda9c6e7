/** Upstream answers of each protocol, made from one description, whole or streamed. */

import type { Json } from '../../src/core/json/json.ts';
import type { ProtocolId } from '../gateway/harness.ts';

export interface Said {
  /** Thoughts before the text. */
  reasoning?: string;
  /** The state that goes with the thoughts (messages) or with the first call (generate). */
  signature?: string;
  text?: string;
  /** `id` may be left out where the protocol allows it. */
  calls?: { id?: string; name: string; args: Json }[];
  /** The protocol's own word for the end; fitting by default. */
  finish?: string;
  /** Token counts as the protocol spells them; `null` for none. */
  usage?: Json;
}

export interface Speaker {
  whole(said: Said): Json;
  /** The bytes of a whole stream. */
  stream(said: Said): string;
}

export function frame(body: Json): string {
  return `data: ${JSON.stringify(body)}\n\n`;
}

export function named(body: Json): string {
  return `event: ${body.type}\n${frame(body)}`;
}

/** Two pieces of a text, so that streams have more than one delta. */
function pieces(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '');
}

const chat: Speaker = {
  whole({ reasoning, text, calls, finish, usage = CHAT_USAGE }) {
    const message = {
      role: 'assistant',
      content: text ?? null,
      ...(reasoning && { reasoning_content: reasoning }),
      ...(calls && { tool_calls: calls.map(chatCall) }),
    };
    const choices = [{ index: 0, message, finish_reason: finish ?? (calls ? 'tool_calls' : 'stop') }];
    return { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', choices, ...(usage && { usage }) };
  },
  stream({ reasoning = '', text = '', calls = [], finish, usage = CHAT_USAGE }) {
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' };
    const chunk = (delta: Json, finish_reason: string | null = null) =>
      frame({ ...head, choices: [{ index: 0, delta, finish_reason }] });
    const callChunks = calls.flatMap((call, index) => {
      const { function: named, ...rest } = chatCall(call);
      return [
        chunk({ tool_calls: [{ index, ...rest, function: { name: named.name, arguments: '' } }] }),
        ...pieces(named.arguments).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
      ];
    });
    return [
      chunk({ role: 'assistant', content: '' }),
      ...pieces(reasoning).map((reasoning_content) => chunk({ reasoning_content })),
      ...pieces(text).map((content) => chunk({ content })),
      ...callChunks,
      chunk({}, finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')),
      ...(usage ? [frame({ ...head, choices: [], usage })] : []),
      'data: [DONE]\n\n',
    ].join('');
  },
};

const CHAT_USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function chatCall({ id = 'call_1', name, args }: { id?: string; name: string; args: Json }): Json {
  return {
    id,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  };
}

const messages: Speaker = {
  whole({ finish, usage = MESSAGES_USAGE, ...said }) {
    const stop_reason = finish ?? (said.calls ? 'tool_use' : 'end_turn');
    return { ...MESSAGE, content: blocksOf(said), stop_reason, usage };
  },
  stream({ finish, usage = MESSAGES_USAGE, ...said }) {
    const { output_tokens, output_tokens_details, ...input } = usage;
    const blocks = blocksOf(said).flatMap((block, index) => [
      named({ type: 'content_block_start', index, content_block: emptied(block) }),
      ...deltasOf(block).map((delta) => named({ type: 'content_block_delta', index, delta })),
      named({ type: 'content_block_stop', index }),
    ]);
    const stop_reason = finish ?? (said.calls ? 'tool_use' : 'end_turn');
    const spent = { output_tokens, ...(output_tokens_details && { output_tokens_details }) };
    return [
      named({ type: 'message_start', message: { ...MESSAGE, usage: { ...input, output_tokens: 1 } } }),
      ...blocks,
      named({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: spent }),
      named({ type: 'message_stop' }),
    ].join('');
  },
};

const MESSAGES_USAGE = { input_tokens: 10, output_tokens: 5 };

const MESSAGE: Json = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] },
  ...{ stop_reason: null, stop_sequence: null },
};

function blocksOf({ reasoning, signature = 'c2lnbmVk', text, calls = [] }: Said): Json[] {
  return [
    ...(reasoning !== undefined ? [{ type: 'thinking', thinking: reasoning, signature }] : []),
    ...(text !== undefined ? [{ type: 'text', text }] : []),
    ...calls.map(({ id = 'toolu_1', name, args }) => ({ type: 'tool_use', id, name, input: args })),
  ];
}

function emptied(block: Json): Json {
  switch (block.type) {
    case 'thinking':
      return { ...block, thinking: '', signature: '' };
    case 'text':
      return { ...block, text: '' };
    default:
      return { ...block, input: {} };
  }
}

function deltasOf(block: Json): Json[] {
  switch (block.type) {
    case 'thinking':
      return [
        ...pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: block.signature },
      ];
    case 'text':
      return pieces(block.text).map((text) => ({ type: 'text_delta', text }));
    default: {
      if (Object.keys(block.input).length === 0) return [];
      return pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    }
  }
}

const generate: Speaker = {
  whole: (said) => generateChunk(partsOf(said), said),
  stream(said) {
    const parts = [
      ...pieces(said.reasoning ?? '').map((text) => ({ text, thought: true })),
      ...pieces(said.text ?? '').map((text) => ({ text })),
      ...partsOf({ ...said, reasoning: undefined, text: undefined }),
    ];
    const chunks = parts.map((part) => generateChunk([part], { usage: null, finish: '' }));
    return [...chunks, generateChunk([{ text: '' }], said)].map(frame).join('');
  },
};

const GENERATE_USAGE = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

function generateChunk(parts: Json[], { finish = 'STOP', usage = GENERATE_USAGE }: Said): Json {
  const candidate = { content: { role: 'model', parts }, index: 0, ...(finish && { finishReason: finish }) };
  return { candidates: [candidate], modelVersion: 'm', responseId: 'r1', ...(usage && { usageMetadata: usage }) };
}

function partsOf({ reasoning, signature, text, calls = [] }: Said): Json[] {
  return [
    ...(reasoning !== undefined ? [{ text: reasoning, thought: true }] : []),
    ...(text !== undefined ? [{ text }] : []),
    ...calls.map(({ args, ...call }, index) => ({
      functionCall: { ...call, args },
      ...(signature && index === 0 && { thoughtSignature: signature }),
    })),
  ];
}

export const SPEAKERS: Record<ProtocolId, Speaker> = { chat, messages, generate };
