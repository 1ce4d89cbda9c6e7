/** The operation `complete` of chat completions. */

import { isObject, type Json, parseObject, textOf } from '../../core/json/json.ts';
import { ENVELOPE_MARK } from '../../core/opaque.ts';
import type { CompleteOperation } from '../../core/operation.ts';
import { outline } from '../../core/outline.ts';
import type { SseEvent } from '../../core/sse.ts';
import { tierOf } from '../service-tier.ts';
import { encodeStreamError } from './errors.ts';
import { names } from './names.ts';
import { limitOutput, outputOf } from './output.ts';
import { decodeRequest, GATEWAY_FIELDS } from './request-decoder.ts';
import { encodeRequest } from './request-encoder.ts';
import { check, checkLimits, schema } from './request-schema.ts';
import { checkAnswer, decodeResponse, encodeResponse, unshown } from './response.ts';
import { restoreState } from './state.ts';
import { createStreamDecoder } from './stream-decoder.ts';
import { createStreamEncoder, KEEP_ALIVE } from './stream-encoder.ts';
import { TOOL_NAME } from './tools.ts';
import { addCost, usageOf } from './usage.ts';

const PATH = '/v1/chat/completions';
/** Data of the last frame of a stream. */
const END = '[DONE]';

export const complete: CompleteOperation = {
  name: 'complete',
  summary: 'Answer a conversation',
  telemetryName: 'chat',

  routes: () => [
    { method: 'POST', path: PATH, match: (rest) => (rest.length === 0 ? {} : undefined), templates: [{ path: PATH }] },
  ],
  schema,
  names,
  checkLimits,
  check,
  example: { messages: [{ role: 'user', content: 'Hello' }] },
  conversation: (body, headers) =>
    String(
      conversationName(body) ??
        headers['x-session-id'] ??
        headers['x-litellm-session-id'] ??
        outline(beginning(body.messages)),
    ),
  conversationName,
  decodeRequest,
  encodeResponse,
  streamEncoder: createStreamEncoder,
  unshown,
  streamType: () => 'text/event-stream; charset=utf-8',
  encodeStreamError,
  keepAlive: KEEP_ALIVE,

  upstreamPath: () => '/chat/completions',
  outputOf,
  tierOf,
  limitOutput,
  toolName: new RegExp(TOOL_NAME),
  answersAreObjects: true,
  gatewayFields: GATEWAY_FIELDS,
  requestModel: { paths: [['model']], required: true, spell: (model) => model },
  state: {
    fields: ['signature', 'data', 'thought_signature'],
    modelTurns: ({ messages }) => messages.filter(({ role }: Json) => role === 'assistant'),
    restore: restoreState,
    marks: [ENVELOPE_MARK],
  },
  encodeRequest,
  decodeResponse,
  streamDecoder: createStreamDecoder,

  requiredMembers: { system_fingerprint: null },
  checkAnswer,
  modelPaths: [['model']],
  textPlaces: {
    after: ['"delta"', '"choices"'],
    text: ['content', 'reasoning_content', 'reasoning', 'refusal', 'text'],
    calls: ['name', 'arguments', 'input'],
  },
  streamUsage: {
    field: 'stream_options',
    value: { include_usage: true },
    member: 'usage',
    asked: (body: Json) => body?.stream_options?.include_usage === true,
    isExtra: (body: Json) => Array.isArray(body?.choices) && body.choices.length === 0 && isObject(body.usage),
  },
  usageMarks: ['"prompt_tokens"', '"completion_tokens"', '"cost"'],
  usageOf,
  factsOf: ({ id, model, choices }) => ({
    id: textOf(id),
    model: textOf(model),
    finish: textOf(choices?.[0]?.native_finish_reason) ?? textOf(choices?.[0]?.finish_reason),
  }),
  cost: { paths: [['usage']], members: addCost },
  isPreamble: ({ data }) => data.trim() === END,
  isSilent,
  isEnd,
  endMarks: [END],
  endIsLast: true,
};

/** Whether a frame names a role, filters of the prompt or usage alone. */
function isSilent({ data }: SseEvent): boolean {
  const { choices } = parseObject(data) ?? {};
  return Array.isArray(choices) && choices.every(onlyOpens);
}

function onlyOpens(choice: Json): boolean {
  if (!isObject(choice) || !isObject(choice.delta) || choice.finish_reason || choice.message || choice.text)
    return false;
  return Object.entries(choice.delta).every(([name, value]) => name === 'role' || isEmpty(value));
}

function isEmpty(value: Json): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** Whether a frame may end the stream: some servers omit `[DONE]` after the finish reason or the usage. */
function isEnd({ data }: SseEvent): boolean {
  if (data.trim() === END) return true;
  const choices = data.includes('"finish_reason"') ? choicesIn(data) : [];
  return (
    choices.length > 0 &&
    choices.every((choice) => typeof choice?.finish_reason === 'string' && choice.finish_reason !== '')
  );
}

function choicesIn(data: string): Json[] {
  try {
    const { choices } = JSON.parse(data);
    return Array.isArray(choices) ? choices : [];
  } catch {
    return [];
  }
}

function conversationName({ prompt_cache_key, session_id }: Json): Json {
  return prompt_cache_key ?? session_id;
}

/** The messages up to the first user message, which are the same in every later turn. */
function beginning(messages: Json[]): Json[] {
  return messages.slice(0, messages.findIndex(({ role }) => role === 'user') + 1);
}
