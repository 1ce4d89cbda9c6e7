/** Path of a request in each protocol, and what the frames of its response add to the answer. */

import { bodyOf } from './bodies.ts';
import type { Message, ToolCall, Turn } from './conversation.ts';
import type { Wire } from './protocols.ts';

export const POLICY_HEADER = 'x-polygate-provider';

export interface WireRequest {
  path: string;
  body: Record<string, unknown>;
  /** Routing policy, as text of a header, where bodies of the protocol have none. */
  policy?: string;
}

/** Text that a frame adds to the answer. */
export interface Frame {
  text?: string;
  reasoning?: string;
  calls?: CallPart[] | false;
  inputTokens?: number;
  outputTokens?: number;
  /** Of a failure amid the stream. */
  error?: string;
}

/** A tool call, or more of the input of the one at the same place. */
export type CallPart = Partial<ToolCall>;

// biome-ignore lint/suspicious/noExplicitAny: Frames of four protocols, read with care.
type Json = Record<string, any>;

interface Protocol {
  /** End of the template of its path; the start can be configured. */
  template: string;
  read(frame: Json): Frame;
  /** Of a whole response. */
  whole(body: Json): Frame;
}

const PROTOCOLS: Record<Wire, Protocol> = {
  chat: {
    template: '/v1/chat/completions',
    read: ({ choices, usage, error }) => ({
      text: choices?.[0]?.delta?.content ?? undefined,
      reasoning: reasoningOfChat(choices?.[0]?.delta),
      calls: callsOfChat(choices?.[0]?.delta),
      inputTokens: usage?.prompt_tokens,
      outputTokens: usage?.completion_tokens,
      error: error?.message,
    }),
    whole: ({ choices, usage }) => ({
      text: choices?.[0]?.message?.content ?? undefined,
      reasoning: reasoningOfChat(choices?.[0]?.message),
      calls: callsOfChat(choices?.[0]?.message),
      inputTokens: usage?.prompt_tokens,
      outputTokens: usage?.completion_tokens,
    }),
  },
  messages: {
    template: '/v1/messages',
    whole: ({ content, usage }) => ({
      text: textOf(content),
      reasoning: content?.map(({ thinking }: Json) => thinking ?? '').join(''),
      calls: content?.filter(({ type }: Json) => type === 'tool_use').map(callOfBlock),
      inputTokens: usage?.input_tokens,
      outputTokens: usage?.output_tokens,
    }),
    read: ({ delta, message, usage, error, index, content_block: block }) => ({
      text: delta?.type === 'text_delta' ? delta.text : undefined,
      reasoning: delta?.type === 'thinking_delta' ? delta.thinking : undefined,
      calls:
        block?.type === 'tool_use'
          ? [{ ...callOfBlock(block), place: index }]
          : delta?.type === 'input_json_delta' && [{ input: delta.partial_json, place: index }],
      inputTokens: usage?.input_tokens ?? message?.usage?.input_tokens,
      outputTokens: usage?.output_tokens,
      error: error?.message,
    }),
  },
  generate: {
    template: '/v1beta/models/{provider}/{model}:streamGenerateContent',
    read: ({ candidates, usageMetadata, error }) => ({
      text: textOf(partsOf(candidates)?.filter(({ thought }) => !thought)),
      reasoning: textOf(partsOf(candidates)?.filter(({ thought }) => thought)),
      calls: partsOf(candidates)?.flatMap(({ functionCall: call, thoughtSignature: signature }) =>
        call ? [{ id: call.id, signature, name: call.name, input: JSON.stringify(call.args ?? {}) }] : [],
      ),
      inputTokens: usageMetadata?.promptTokenCount,
      outputTokens: usageMetadata?.candidatesTokenCount,
      error: error?.message,
    }),
    whole: (body) => PROTOCOLS.generate.read(body),
  },
  responses: {
    template: '/v1/responses',
    whole: ({ output, usage }) => ({
      text: output?.map(({ type, content }: Json) => (type === 'message' ? textOf(content) : '')).join(''),
      reasoning: output
        ?.map(({ type, summary, content }: Json) =>
          type === 'reasoning' ? textOf(content?.length > 0 ? content : summary) : '',
        )
        .join(''),
      calls: output?.filter(isFunctionCall).map(callOfItem),
      inputTokens: usage?.input_tokens,
      outputTokens: usage?.output_tokens,
    }),
    read: ({ type, delta, response, message, item, output_index: place }) => ({
      text: type === 'response.output_text.delta' ? delta : undefined,
      reasoning: /^response\.reasoning(_summary)?_text\.delta$/.test(type) ? delta : undefined,
      calls:
        type === 'response.output_item.added' && isFunctionCall(item)
          ? [{ ...callOfItem(item), place }]
          : type === 'response.function_call_arguments.delta' && [{ input: delta, place }],
      inputTokens: response?.usage?.input_tokens,
      outputTokens: response?.usage?.output_tokens,
      error: type === 'error' ? message : response?.error?.message,
    }),
  },
};

/** Providers name it differently. */
function reasoningOfChat(message: Json | undefined): string | undefined {
  return message?.reasoning ?? message?.reasoning_content ?? undefined;
}

function callsOfChat(message: Json | undefined): CallPart[] | undefined {
  return message?.tool_calls?.map(({ index, id, function: call }: Json) => ({
    id,
    name: call?.name,
    input: call?.arguments,
    place: index,
  }));
}

/** The input of a block that begins comes with the next frames. */
function callOfBlock({ id, name, input }: Json): CallPart {
  const isEmpty = Object.keys(input ?? {}).length === 0;
  return { id, name, input: isEmpty ? '' : JSON.stringify(input) };
}

const isFunctionCall = (item: Json | undefined): boolean => item?.type === 'function_call';
const callOfItem = ({ call_id: id, name, arguments: input }: Json): CallPart => ({ id, name, input });

function partsOf(candidates: Json[] | undefined): Json[] | undefined {
  return candidates?.[0]?.content?.parts;
}

/** Tool calls with what a frame adds to them. */
export function withCalls(calls: readonly ToolCall[], parts: readonly CallPart[]): ToolCall[] {
  const all = [...calls];
  for (const { name = '', input = '', place, ...facts } of parts) {
    const at = place === undefined ? -1 : all.findIndex((call) => call.place === place);
    const before = all[at];
    if (before) all[at] = { ...before, name: before.name || name, input: before.input + input };
    else all.push({ ...facts, name, input, place });
  }
  return all;
}

function textOf(parts: Json[] | undefined): string {
  return parts?.map(({ text }) => text ?? '').join('') ?? '';
}

/** Paths are those of the description, because their starts can be configured. */
export function requestOf(
  wire: Wire,
  { model, turn, messages, paths }: { model: string; turn: Turn; messages: readonly Message[]; paths: string[] },
): WireRequest {
  const { template } = PROTOCOLS[wire];
  const path = paths.filter((one) => one.endsWith(template)).toSorted((one, other) => one.length - other.length)[0];
  const filled = (path ?? template).replace('{provider}/{model}', model);
  const whole = filled.replace(':streamGenerateContent', ':generateContent');
  const body = bodyOf(wire, { model, turn, messages });
  if (wire !== 'generate') return { path: whole, body };
  const { provider, ...rest } = body;
  const policy = provider === undefined ? undefined : asciiJson(provider);
  return { path: turn.stream ? `${filled}?alt=sse` : whole, body: rest, ...(policy !== undefined && { policy }) };
}

/** Headers have no other characters. */
function asciiJson(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, escaped);
}

export function readWhole(wire: Wire, text: string): Frame {
  try {
    return PROTOCOLS[wire].whole(JSON.parse(text));
  } catch {
    return {};
  }
}

export function readFrame(wire: Wire, data: string): Frame {
  if (data === '[DONE]') return {};
  try {
    return PROTOCOLS[wire].read(JSON.parse(data));
  } catch {
    return {};
  }
}
