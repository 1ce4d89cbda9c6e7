/** The messages protocol: Anthropic's wire format, towards clients and towards upstreams. */

import { isObject, type Json, textOf } from '../../core/json/json.ts';
import { outline } from '../../core/outline.ts';
import type { Protocol } from '../../core/protocol.ts';
import { encodeModel, encodeModels } from './catalog.ts';
import { checkHeaders, credentials, endpoints } from './endpoints.ts';
import { decodeError, encodeError, encodeErrorEvent, errorIn } from './errors.ts';
import { names } from './names.ts';
import { limitOutput, outputOf } from './output.ts';
import { parameterName } from './parameters.ts';
import { decodeRequest } from './request-decoder.ts';
import { countBody, encodeRequest } from './request-encoder.ts';
import { decodeResponse, encodeResponse, unshown } from './response.ts';
import { check, checkLimits, schemas } from './schema.ts';
import { restoreState } from './state.ts';
import { createStreamDecoder } from './stream-decoder.ts';
import { createStreamEncoder } from './stream-encoder.ts';
import { usageOf } from './usage.ts';

export const messages: Protocol = {
  id: 'messages',

  endpoints,
  credentials,
  checkHeaders,
  schemas,
  names,
  checkLimits,
  check,
  decodeRequest,
  encodeResponse,
  streamEncoder: createStreamEncoder,
  unshown,
  streamType: () => 'text/event-stream; charset=utf-8',
  encodeError,
  encodeStreamError: encodeErrorEvent,
  keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
  requestIdHeader: 'request-id',
  parameterName,
  conversation: ({ metadata, messages }, headers) =>
    String(headers['x-claude-code-session-id'] ?? headers['x-session-id'] ?? metadata?.user_id ?? outline(messages[0])),
  encodeModel,
  encodeModels,
  encodeCount: (tokens) => ({ input_tokens: tokens }),

  upstreamPath: (_model, action) => (action === 'count' ? '/v1/messages/count_tokens' : '/v1/messages'),
  outputOf,
  limitOutput,
  toolName: /^[a-zA-Z0-9_-]{1,128}$/,
  gatewayFields: ['provider', 'models'],
  requestModel: { paths: [['model']], required: true, spell: (model) => model },
  restoreState,
  stateFields: ['signature', 'data'],
  forwardedHeaders: {
    'anthropic-version': 'anthropic-version',
    'msg-protocol-version': 'anthropic-version',
    'anthropic-beta': 'anthropic-beta',
  },
  encodeRequest,
  decodeResponse,
  streamDecoder: createStreamDecoder,
  decodeError,
  countBody,
  decodeCount: (body: Json) =>
    isObject(body) && Number.isInteger(body.input_tokens) ? Number(body.input_tokens) : undefined,

  modelPaths: [['model'], ['message', 'model']],
  textPlaces: { after: ['"delta"', '"tool_use"'], text: ['text', 'thinking', 'partial_json'], calls: ['name'] },
  usageMark: Buffer.from('"usage"'),
  usageOf,
  factsOf: ({ id, model, message, stop_reason, delta }) => ({
    id: textOf(id ?? message?.id),
    model: textOf(model ?? message?.model),
    finish: textOf(stop_reason ?? delta?.stop_reason),
  }),
  errorIn,
  isPing: ({ data }) => /^\{\s*"type"\s*:\s*"ping"/.test(data),
  isPreamble: ({ data }) => /^\{\s*"type"\s*:\s*"message_start"/.test(data),
  isEnd: (event) => event.event === 'message_stop' || /^\{\s*"type"\s*:\s*"message_stop"/.test(event.data),
  endMark: Buffer.from('message_stop'),
  endIsLast: true,
};
