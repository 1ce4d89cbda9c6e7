/** The operation `count-tokens` of the messages protocol. */

import { isObject } from '../../core/json/json.ts';
import type { CountTokensOperation } from '../../core/operation.ts';
import { conversation, conversationName, gatewayFields, messagesPaths, requestModel, state } from './conversation.ts';
import { names } from './names.ts';
import { countBody } from './request-encoder.ts';
import { checkCount, checkCountLimits, countSchema } from './schema.ts';

export const countTokens: CountTokensOperation = {
  name: 'count-tokens',
  summary: 'Count the tokens of a conversation',
  telemetryName: 'count_tokens',

  routes: ({ messages }) =>
    messagesPaths(messages).map((start) => {
      const path = `${start}/count_tokens`;
      return { method: 'POST', path, match: (rest) => (rest.length === 0 ? {} : undefined), templates: [{ path }] };
    }),
  schema: countSchema,
  names,
  checkLimits: checkCountLimits,
  check: checkCount,
  example: { messages: [{ role: 'user', content: 'Hello' }] },
  conversation,
  conversationName,
  encodeCount: (tokens) => ({ input_tokens: tokens }),

  upstreamPath: () => '/v1/messages/count_tokens',
  gatewayFields,
  requestModel,
  state,
  countBody,
  decodeCount: (body) =>
    isObject(body) && Number.isInteger(body.input_tokens) ? Number(body.input_tokens) : undefined,

  modelPaths: [],
  usageOf: () => undefined,
  factsOf: () => ({}),
};
