/** Chat completions: the wire of OpenAI and of most other servers, towards clients and towards upstreams. */

import { isObject, type Json, textOf } from '../../core/json/json.ts';
import { outline } from '../../core/outline.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { SseEvent } from '../../core/sse.ts';
import { encodeModel, encodeModelCount, encodeModels } from './catalog.ts';
import { credentials, endpoints } from './endpoints.ts';
import { decodeError, encodeError, encodeStreamError, errorIn } from './errors.ts';
import { names } from './names.ts';
import { limitOutput, outputOf } from './output.ts';
import { parameterName } from './parameters.ts';
import { decodeRequest, GATEWAY_FIELDS } from './request-decoder.ts';
import { encodeRequest } from './request-encoder.ts';
import { check, checkLimits, schemas } from './request-schema.ts';
import { decodeResponse, encodeResponse } from './response.ts';
import { restoreState } from './state.ts';
import { createStreamDecoder } from './stream-decoder.ts';
import { createStreamEncoder, KEEP_ALIVE } from './stream-encoder.ts';
import { TOOL_NAME } from './tools.ts';
import { addCost, usageOf } from './usage.ts';

export const chat: Protocol = {
  id: 'chat',

  endpoints: () => endpoints,
  credentials,
  schemas,
  names,
  checkLimits,
  check,
  decodeRequest,
  encodeResponse,
  streamEncoder: createStreamEncoder,
  streamType: () => 'text/event-stream; charset=utf-8',
  encodeError,
  encodeStreamError,
  keepAlive: KEEP_ALIVE,
  requestIdHeader: 'x-request-id',
  parameterName,
  conversation: ({ prompt_cache_key, session_id, messages }, headers) =>
    String(prompt_cache_key ?? session_id ?? headers['x-session-id'] ?? outline(beginning(messages))),
  encodeModel,
  encodeModels,
  encodeModelCount,
  encodeCount: (tokens) => ({ input_tokens: tokens }),

  upstreamPath: (_model, action) => `/chat/completions${action === 'count' ? '/input_tokens' : ''}`,
  outputOf,
  limitOutput,
  toolName: new RegExp(TOOL_NAME),
  gatewayFields: GATEWAY_FIELDS,
  requestModel: { paths: [['model']], required: true, spell: (model) => model },
  restoreState,
  stateFields: ['signature', 'data', 'thought_signature'],
  streamUsage: {
    field: 'stream_options',
    value: { include_usage: true },
    member: 'usage',
    asked: (body: Json) => body?.stream_options?.include_usage === true,
    isExtra: (body: Json) => Array.isArray(body?.choices) && body.choices.length === 0 && isObject(body.usage),
  },
  forwardedHeaders: {},
  encodeRequest,
  decodeResponse,
  streamDecoder: createStreamDecoder,
  decodeError,
  decodeCount: (body: Json) => (Number.isInteger(body?.input_tokens) ? body.input_tokens : undefined),

  requiredMembers: { system_fingerprint: null },
  modelPaths: [['model']],
  textPlaces: {
    after: ['"delta"', '"choices"'],
    text: ['content', 'reasoning_content', 'reasoning', 'refusal', 'text'],
    calls: ['name', 'arguments', 'input'],
  },
  usageMark: Buffer.from('"prompt_tokens"'),
  usageOf,
  factsOf: ({ id, model, choices }) => ({
    id: textOf(id),
    model: textOf(model),
    finish: textOf(choices?.[0]?.native_finish_reason) ?? textOf(choices?.[0]?.finish_reason),
  }),
  cost: { path: ['usage'], members: addCost },
  errorIn,
  isEnd,
  endMark: Buffer.from('[DONE]'),
  endIsLast: true,
};

/** Some servers close their streams after the finish reason or the usage, without a `[DONE]`. */
function isEnd({ data }: SseEvent): boolean {
  if (data.trim() === '[DONE]') return true;
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

/** Up to the first words of the user, which stay the same in every later turn. */
function beginning(messages: Json[]): Json[] {
  return messages.slice(0, messages.findIndex(({ role }) => role === 'user') + 1);
}
