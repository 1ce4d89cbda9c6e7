/** The operation `complete` of generateContent. */

import { isObject, type Json, parseObject, read, textOf } from '../../core/json/json.ts';
import type { CompleteOperation } from '../../core/operation.ts';
import type { SseEvent } from '../../core/sse.ts';
import { checkRequest, checkRequestLimits, requestSchema } from './check.ts';
import { conversation, requestModel, state, toolFailuresOf } from './conversation.ts';
import { names } from './names.ts';
import { limitOutput, outputOf, providerTools, tierOf } from './output.ts';
import { decodeRequest } from './request-decoder.ts';
import { encodeRequest } from './request-encoder.ts';
import { decodeResponse, encodeResponse } from './response.ts';
import { methodRoutes, modelPath } from './routes.ts';
import { createStreamDecoder } from './stream-decoder.ts';
import { createStreamEncoder, encodeStreamError, KEEP_ALIVE, streamType } from './stream-encoder.ts';
import { usageOf } from './usage.ts';

export const complete: CompleteOperation = {
  name: 'complete',
  summary: 'Answer a conversation',
  telemetryName: 'generate_content',

  routes: (prefixes) =>
    methodRoutes(prefixes, {
      generateContent: { match: () => ({ stream: false }) },
      streamGenerateContent: {
        match: (query) => ({ stream: true, array: (query.get('alt') ?? query.get('$alt')) !== 'sse' }),
        streams: true,
      },
    }),
  schema: requestSchema,
  names,
  checkLimits: checkRequestLimits,
  check: checkRequest,
  example: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  conversation,
  toolFailuresOf,
  decodeRequest,
  encodeResponse,
  streamEncoder: createStreamEncoder,
  streamType,
  encodeStreamError,
  keepAlive: KEEP_ALIVE,

  upstreamPath: (model, stream) =>
    stream ? `${modelPath(model, 'streamGenerateContent')}?alt=sse` : modelPath(model, 'generateContent'),
  outputOf,
  hidesInput: ({ cachedContent, cached_content }) => Boolean(cachedContent ?? cached_content),
  tierOf,
  providerTools,
  limitOutput,
  toolName: /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/,
  needsMediaTypes: true,
  gatewayFields: [],
  requestModel,
  state,
  encodeRequest,
  decodeResponse,
  streamDecoder: createStreamDecoder,

  modelPaths: [['modelVersion']],
  textPlaces: {
    after: ['"parts"'],
    before: '"groundingMetadata"',
    text: ['text'],
    calls: ['name', 'args', 'jsonPath', 'stringValue'],
    several: true,
  },
  usageMarks: ['"usageMetadata"', '"groundingMetadata"'],
  usageOf,
  factsOf: ({ responseId, modelVersion, candidates, promptFeedback }) => ({
    id: textOf(responseId),
    model: textOf(modelVersion),
    finish: textOf(candidates?.[0]?.finishReason ?? promptFeedback?.blockReason),
  }),
  isSilent,
  isEnd,
  endMarks: ['Reason"'],
  endIsLast: false,
};

/** Whether a frame has no candidate, and no word about the prompt. */
function isSilent({ data }: SseEvent): boolean {
  const body = parseObject(data);
  return body !== undefined && !body.promptFeedback && !body.candidates?.length;
}

/** True if every candidate has a finish reason, or the prompt was blocked. */
function isEnd({ data }: SseEvent): boolean {
  if (!data.includes('"finishReason"') && !data.includes('"blockReason"')) return false;
  let chunk: Json;
  try {
    chunk = read(data);
  } catch {
    return false;
  }
  if (!isObject(chunk)) return false;
  const candidates: Json[] = Array.isArray(chunk.candidates) ? chunk.candidates : [];
  return candidates.some((candidate) => candidate?.finishReason) || Boolean(chunk.promptFeedback?.blockReason);
}
