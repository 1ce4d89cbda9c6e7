/** The operation `count-tokens` of the Responses protocol. */

import { isObject } from '../../core/json/json.ts';
import type { CountTokensOperation } from '../../core/operation.ts';
import { complete } from './complete.ts';
import { conversationName } from './conversation.ts';
import { COUNT_FIELDS, countSchema } from './request-schema.ts';

const PATH = '/v1/responses/input_tokens';

const { names, checkLimits, check, example, conversation, gatewayFields, requestModel, state, stored } = complete;

export const countTokens: CountTokensOperation = {
  name: 'count-tokens',
  summary: 'Count the tokens of a conversation',
  telemetryName: 'count_tokens',

  routes: () => [
    { method: 'POST', path: PATH, match: (rest) => (rest.length === 0 ? {} : undefined), templates: [{ path: PATH }] },
  ],
  schema: countSchema,
  names,
  checkLimits,
  check,
  example,
  conversation,
  conversationName,
  encodeCount: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),

  upstreamPath: () => '/responses/input_tokens',
  gatewayFields,
  requestModel,
  ...(state && { state }),
  ...(stored && { stored }),
  countBody: (body) => Object.fromEntries(COUNT_FIELDS.flatMap((name) => (name in body ? [[name, body[name]]] : []))),
  decodeCount: (body) =>
    isObject(body) && Number.isInteger(body.input_tokens) ? Number(body.input_tokens) : undefined,

  modelPaths: [],
  usageOf: () => undefined,
  factsOf: () => ({}),
};
