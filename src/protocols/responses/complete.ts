/** The operation `complete` of the Responses protocol. */

import { isObject } from '../../core/json/json.ts';
import { ENVELOPE_MARK } from '../../core/opaque.ts';
import type { CompleteOperation } from '../../core/operation.ts';
import { tierOf } from '../service-tier.ts';
import { conversation, conversationName } from './conversation.ts';
import { decodeResponse } from './decode-answer.ts';
import { decodeRequest } from './decode-request.ts';
import { createStreamDecoder } from './decode-stream.ts';
import { encodeResponse, unshown } from './encode-answer.ts';
import { encodeRequest } from './encode-request.ts';
import { createStreamEncoder, KEEP_ALIVE } from './encode-stream.ts';
import { encodeStreamError } from './errors.ts';
import { isEnd, isPing, isPreamble, isUnreadPreamble, LAST } from './events.ts';
import { factsOf } from './facts.ts';
import { names } from './names.ts';
import { containerSizeOf, limitOutput, outputOf, providerTools } from './output.ts';
import { repair } from './repair.ts';
import { GATEWAY_FIELDS, RESERVED_FIELDS } from './request-fields.ts';
import { check, checkLimits, schema } from './request-schema.ts';
import { echoOf } from './response-object.ts';
import { restoreState } from './state.ts';
import { stored } from './stored.ts';
import { addCost, COUNTED_CALLS, toolUseIn, usageOf } from './usage.ts';

const PATH = '/v1/responses';

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
  example: { input: 'Hello' },
  conversation,
  conversationName,
  decodeRequest,
  echoOf,
  encodeResponse,
  streamEncoder: createStreamEncoder,
  unshown,
  streamType: () => 'text/event-stream; charset=utf-8',
  encodeStreamError,
  keepAlive: KEEP_ALIVE,

  upstreamPath: () => '/responses',
  outputOf,
  hidesInput: ({ prompt, previous_response_id: previous }) => isObject(prompt) || typeof previous === 'string',
  providerTools,
  containerSizeOf,
  tierOf,
  limitOutput,
  toolName: /^[a-zA-Z0-9_-]{1,64}$/,
  answersAreObjects: true,
  gatewayFields: GATEWAY_FIELDS,
  reservedFields: RESERVED_FIELDS,
  requestModel: { paths: [['model']], required: true, spell: (model) => model },
  state: {
    fields: ['encrypted_content'],
    modelTurns: ({ input }) => (Array.isArray(input) ? input : []),
    restore: restoreState,
    marks: [ENVELOPE_MARK],
    ofAccount: true,
  },
  stored,
  encodeRequest,
  repair,
  decodeResponse,
  streamDecoder: createStreamDecoder,

  modelPaths: [['model'], ['response', 'model']],
  textPlaces: { after: ['.delta'], text: ['delta'], calls: [] },
  usageMarks: ['"usage"'],
  tools: { marks: [...COUNTED_CALLS, 'image_generation_call'].map((type) => `"${type}"`), usedIn: toolUseIn },
  usageOf,
  factsOf,
  cost: { paths: [['usage'], ['response', 'usage']], members: addCost },
  isPreamble,
  isUnreadPreamble,
  isPing,
  isEnd,
  endMarks: LAST,
  // OpenRouter sends `[DONE]` after the last event.
  endIsLast: false,
};
