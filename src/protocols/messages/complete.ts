/** The operation `complete` of the messages protocol. */

import { textOf } from '../../core/json/json.ts';
import type { CompleteOperation } from '../../core/operation.ts';
import {
  conversation,
  conversationName,
  gatewayFields,
  isContinuedById,
  messagesPaths,
  requestModel,
  state,
  toolFailuresOf,
} from './conversation.ts';
import { encodeErrorEvent } from './errors.ts';
import { names } from './names.ts';
import { containerSizeOf, limitOutput, outputOf, providerTools, tierOf } from './output.ts';
import { decodeRequest } from './request-decoder.ts';
import { encodeRequest } from './request-encoder.ts';
import { decodeResponse, encodeResponse, unshown } from './response.ts';
import { checkRequest, checkRequestLimits, requestSchema } from './schema.ts';
import { createStreamDecoder } from './stream-decoder.ts';
import { createStreamEncoder } from './stream-encoder.ts';
import { toolUseIn, usageOf } from './usage.ts';

export const complete: CompleteOperation = {
  name: 'complete',
  summary: 'Answer a conversation',
  telemetryName: 'chat',

  routes: ({ messages }) =>
    messagesPaths(messages).map((path) => ({
      method: 'POST',
      path,
      match: (rest) => (rest.length === 0 ? {} : undefined),
      templates: [{ path }],
    })),
  schema: requestSchema,
  names,
  checkLimits: checkRequestLimits,
  check: checkRequest,
  example: { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] },
  conversation,
  conversationName,
  isContinuedById,
  toolFailuresOf,
  decodeRequest,
  encodeResponse,
  streamEncoder: createStreamEncoder,
  unshown,
  streamType: () => 'text/event-stream; charset=utf-8',
  encodeStreamError: encodeErrorEvent,
  keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',

  upstreamPath: () => '/v1/messages',
  outputOf,
  tierOf,
  hidesInput: ({ thread }) => thread?.type === 'continue',
  providerTools,
  containerSizeOf,
  limitOutput,
  toolName: /^[a-zA-Z0-9_-]{1,128}$/,
  gatewayFields,
  requestModel,
  state,
  encodeRequest,
  decodeResponse,
  streamDecoder: createStreamDecoder,

  modelPaths: [['model'], ['message', 'model']],
  textPlaces: { after: ['"delta"', '"tool_use"'], text: ['text', 'thinking', 'partial_json'], calls: ['name'] },
  usageMarks: ['"usage"'],
  tools: { marks: ['"web_search_tool_result"', '"server_tool_use"'], usedIn: toolUseIn },
  usageOf,
  factsOf: ({ id, model, message, stop_reason, delta }) => ({
    id: textOf(id ?? message?.id),
    model: textOf(model ?? message?.model),
    finish: textOf(stop_reason ?? delta?.stop_reason),
  }),
  isPing: ({ data }) => /^\{\s*"type"\s*:\s*"ping"/.test(data),
  isPreamble: ({ data }) => /^\{\s*"type"\s*:\s*"message_(?:start|stop)"/.test(data),
  isEnd: (event) => event.event === 'message_stop' || /^\{\s*"type"\s*:\s*"message_stop"/.test(event.data),
  endMarks: ['message_stop'],
  endIsLast: true,
};
