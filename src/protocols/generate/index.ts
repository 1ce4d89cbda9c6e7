/** The generateContent protocol of Gemini. */

import { isObject, type Json, read, textOf } from '../../core/json/json.ts';
import { outline } from '../../core/outline.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { SseEvent } from '../../core/sse.ts';
import { encodeModel, encodeModels } from './catalog.ts';
import { check, checkLimits, schemas } from './check.ts';
import { credentials, endpoints, upstreamPath } from './endpoints.ts';
import { decodeError, encodeError, errorIn } from './errors.ts';
import { names } from './names.ts';
import { limitOutput, outputOf } from './output.ts';
import { parameterName } from './parameters.ts';
import { decodeRequest } from './request-decoder.ts';
import { encodeRequest } from './request-encoder.ts';
import { decodeResponse, encodeResponse } from './response.ts';
import { restoreState } from './state.ts';
import { createStreamDecoder } from './stream-decoder.ts';
import { createStreamEncoder, encodeStreamError, KEEP_ALIVE, streamType } from './stream-encoder.ts';
import { decodeUsage } from './usage.ts';

export const generate: Protocol = {
  id: 'generate',

  endpoints,
  credentials,
  schemas,
  names,
  checkLimits,
  check,
  decodeRequest,
  encodeResponse,
  streamEncoder: createStreamEncoder,
  streamType,
  encodeError,
  encodeStreamError,
  keepAlive: KEEP_ALIVE,
  requestIdHeader: 'x-request-id',
  parameterName,
  conversation: (body, headers) =>
    String(headers['x-session-id'] ?? outline((body.generateContentRequest ?? body).contents?.[0] ?? '')),
  encodeModel,
  encodeModels,
  encodeCount: (tokens) => ({ totalTokens: tokens }),

  upstreamPath,
  outputOf,
  limitOutput,
  toolName: /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/,
  gatewayFields: [],
  requestModel: {
    // The address names the model; what a body says besides, some servers believe.
    paths: [['model'], ['generateContentRequest', 'model'], ['generate_content_request', 'model']],
    required: false,
    spell: (model) => `models/${model}`,
  },
  restoreState,
  stateFields: ['thoughtSignature', 'thought_signature'],
  forwardedHeaders: { 'x-server-timeout': 'x-server-timeout' },
  encodeRequest,
  decodeResponse,
  streamDecoder: createStreamDecoder,
  decodeError,
  countBody: (body, target) => ({ generateContentRequest: { model: `models/${target.model}`, ...body } }),
  decodeCount: (body) => (Number.isInteger(body?.totalTokens) ? body.totalTokens : undefined),

  modelPaths: [['modelVersion']],
  textPlaces: {
    after: ['"parts"'],
    before: '"groundingMetadata"',
    text: ['text'],
    calls: ['name', 'args', 'jsonPath', 'stringValue'],
    several: true,
  },
  usageMark: Buffer.from('"usageMetadata"'),
  usageOf: (body) => decodeUsage(body?.usageMetadata),
  factsOf: ({ responseId, modelVersion, candidates, promptFeedback }) => ({
    id: textOf(responseId),
    model: textOf(modelVersion),
    finish: textOf(candidates?.[0]?.finishReason ?? promptFeedback?.blockReason),
  }),
  errorIn,
  isEnd,
  endMark: Buffer.from('Reason"'),
  endIsLast: false,
};

/** Either every candidate says why it ended, or the prompt was not let through. */
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
