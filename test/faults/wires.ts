/** Wire forms of each protocol: a short answer in pieces, errors, and a judge of a client's response. */

import assert from 'node:assert/strict';
import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { HEADERS, PATHS, type ProtocolId, question } from '../gateway/harness.ts';
import { deltaOf, eventsOf, FAILED, frame, responseOf } from '../protocols/responses-wire.ts';

/** Protocols of clients and of upstreams. */
export type WireId = ProtocolId | 'responses';

/** A plain question of a client. */
export function requestOf(
  protocol: WireId,
  { model, text, stream }: { model: string; text: string; stream: boolean },
): { path: string; headers: Record<string, string>; body: Json } {
  if (protocol === 'responses')
    return { path: '/v1/responses', headers: HEADERS.chat, body: { model, input: text, ...(stream && { stream }) } };
  const body = question(protocol, model, text, stream);
  return { path: PATHS[protocol](model, stream), headers: HEADERS[protocol], body };
}

/** The kinds of failure a client can tell apart, as each protocol names them: status and code. */
export const NAMES = {
  timeout: {
    chat: [504, 'timeout'],
    messages: [504, 'timeout_error'],
    generate: [504, 'DEADLINE_EXCEEDED'],
    responses: [504, 'timeout'],
  },
  upstream: {
    chat: [502, 'upstream_error'],
    messages: [500, 'api_error'],
    generate: [503, 'UNAVAILABLE'],
    responses: [502, 'upstream_error'],
  },
  overloaded: {
    chat: [503, 'server_is_overloaded'],
    responses: [503, 'server_is_overloaded'],
    messages: [529, 'overloaded_error'],
    generate: [503, 'UNAVAILABLE'],
  },
  limited: {
    chat: [429, 'rate_limit_exceeded'],
    responses: [429, 'rate_limit_exceeded'],
    messages: [429, 'rate_limit_error'],
    generate: [429, 'RESOURCE_EXHAUSTED'],
  },
} as const satisfies Record<string, Record<WireId, readonly [number, string]>>;

export type Kind = keyof typeof NAMES;

/** The name of a failure in a stream that has begun. A failed response has few codes. */
export function nameInStream(protocol: WireId, kind: Kind): string {
  if (protocol !== 'responses') return NAMES[kind][protocol][1];
  return kind === 'limited' ? 'rate_limit_exceeded' : 'server_error';
}

export interface Wire {
  /** Frames of a stream up to and with the text `Hel`. */
  head: string;
  /** One more frame with this text. */
  text(text: string): string;
  /** What follows the text in a complete stream. */
  tail: string;
  whole: Json;
  error(kind: Kind): Json;
  /** An error as an event of a stream. */
  errorEvent(kind: Kind): string;
}

function data(body: Json): string {
  return `data: ${JSON.stringify(body)}\n\n`;
}

function event(body: Json): string {
  return `event: ${body.type}\n${data(body)}`;
}

const chunk = (delta: Json, finish_reason: string | null = null): string =>
  data({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason }],
  });

const chatError = (kind: Kind): Json => {
  const [status, code] = NAMES[kind].chat;
  return { error: { message: `It is ${kind}.`, type: 'server_error', code, param: null, status } };
};

const messagesError = (kind: Kind): Json => ({
  type: 'error',
  error: { type: NAMES[kind].messages[1], message: `It is ${kind}.` },
  request_id: 'req_1',
});

const piece = (text: string, finishReason?: string): string =>
  data({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...(finishReason && { finishReason }) }],
    modelVersion: 'm',
    responseId: 'r1',
  });

const generateError = (kind: Kind): Json => {
  const [code, status] = NAMES[kind].generate;
  return { error: { code, message: `It is ${kind}.`, status } };
};

const responsesError = (kind: Kind): Json => {
  const [, code] = NAMES[kind].responses;
  return { error: { message: `It is ${kind}.`, type: 'server_error', code, param: null } };
};

const isDelta = ({ type }: Json): boolean => type === 'response.output_text.delta';
const responsesEvents = eventsOf('Hello');
const beforeText = responsesEvents.slice(0, responsesEvents.findIndex(isDelta));
const afterText = responsesEvents.slice(responsesEvents.findLastIndex(isDelta) + 1);

export const WIRES: Record<WireId, Wire> = {
  chat: {
    head: chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hel' }),
    text: (content) => chunk({ content }),
    tail: `${chunk({}, 'stop')}data: [DONE]\n\n`,
    whole: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    },
    error: chatError,
    errorEvent: (kind) => data(chatError(kind)),
  },
  messages: {
    head: [
      event({
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      }),
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } }),
    ].join(''),
    text: (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    tail: [
      event({ type: 'content_block_stop', index: 0 }),
      event({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 2 },
      }),
      event({ type: 'message_stop' }),
    ].join(''),
    whole: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 2 },
    },
    error: messagesError,
    errorEvent: (kind) => event(messagesError(kind)),
  },
  generate: {
    head: piece('Hel'),
    text: (text) => piece(text),
    tail: piece('', 'STOP'),
    whole: {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP', index: 0 }],
      modelVersion: 'm',
      responseId: 'r1',
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
    },
    error: generateError,
    errorEvent: (kind) => data(generateError(kind)),
  },
  responses: {
    head: [...beforeText, deltaOf('Hel', beforeText.length)].map(frame).join(''),
    text: (text) => frame(deltaOf(text, beforeText.length + 1)),
    tail: afterText.map(frame).join(''),
    whole: responseOf({
      status: 'completed',
      output: responsesEvents.at(-1)?.response.output,
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    }),
    error: responsesError,
    errorEvent: (kind) => frame({ ...FAILED, response: { ...FAILED.response, ...responsesError(kind), usage: null } }),
  },
};

/** The frames of a complete stream with the text `Hello`. */
export function framesOf({ head, text, tail }: Wire): string[] {
  return `${head}${text('lo')}${tail}`.split(/(?<=\n\n)/);
}

/** What a client of a protocol understands of a stream it was sent. */
export interface Heard {
  text: string;
  /** The protocol's name for the failure that ended it. */
  error?: string;
  /** Something in it says that the answer is complete. */
  success: boolean;
}

/** After an error a generate stream has half a comment: the official SDK 1.x takes only a broken stream for a failure. */
const ENDS: Partial<Record<WireId, RegExp>> = { generate: /\r?\n\r?\n(: incomplete)?$/ };

/** Reads a stream as strictly as a client could; `array` is generate content without `alt=sse`. */
export function hear(protocol: WireId, stream: string, array = false): Heard {
  if (array) return hearBodies(protocol, JSON.parse(stream));
  assert.match(stream, ENDS[protocol] ?? /\n\n$/, `ends within a frame: ${stream.slice(-200)}`);
  const events = parseEvents(Buffer.from(stream));
  const bodies: Json[] = [];
  for (const [index, { event: name, data: text }] of events.entries()) {
    if (protocol === 'chat' && text === '[DONE]') {
      assert.equal(index, events.length - 1, 'something follows the end');
      return { ...hearBodies(protocol, bodies), success: true };
    }
    const body = JSON.parse(text);
    if (protocol === 'messages' || protocol === 'responses') assert.equal(name, body.type);
    else assert.equal(name, undefined);
    bodies.push(body);
  }
  return hearBodies(protocol, bodies);
}

function hearBodies(protocol: WireId, bodies: Json[]): Heard {
  const heard: Heard = { text: '', success: false };
  for (const [index, body] of bodies.entries()) {
    const error = body.error ?? body.response?.error;
    if (error) {
      assert.equal(index, bodies.length - 1, 'something follows the error');
      assert.equal(typeof error.message, 'string');
      heard.error = protocol === 'responses' ? failureOf(body) : errorName(protocol, body);
      continue;
    }
    switch (protocol) {
      case 'chat':
        heard.text += body.choices[0]?.delta.content ?? '';
        heard.success ||= Boolean(body.choices[0]?.finish_reason);
        break;
      case 'messages':
        heard.text += body.delta?.text ?? '';
        heard.success ||= body.type === 'message_stop' || body.type === 'message_delta';
        break;
      case 'generate':
        heard.text += body.candidates?.[0]?.content?.parts?.[0]?.text ?? '';
        heard.success ||= Boolean(body.candidates?.[0]?.finishReason);
        break;
      case 'responses':
        heard.text += body.type === 'response.output_text.delta' ? body.delta : '';
        heard.success ||= body.type === 'response.completed' || body.type === 'response.incomplete';
        break;
    }
  }
  return heard;
}

/** Clients know no other event that ends a stream with an error. */
function failureOf({ type, response }: Json): string {
  assert.deepEqual([type, response.status], ['response.failed', 'failed']);
  return response.error.code;
}

/** The protocol's own name for a failure, of an error body that has the protocol's own shape. */
export function errorName(protocol: WireId, body: Json): string {
  switch (protocol) {
    case 'chat':
    case 'responses':
      assert.equal(body.choices, undefined);
      assert.equal(typeof body.error.type, 'string');
      return body.error.code;
    case 'messages':
      assert.equal(body.type, 'error');
      return body.error.type;
    case 'generate':
      assert.ok(body.error.code >= 400 && body.error.code <= 599);
      return body.error.status;
  }
}
