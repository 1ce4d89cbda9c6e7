/** The operation `count-tokens` of generateContent. */

import type { CountTokensOperation } from '../../core/operation.ts';
import { checkCount, checkCountLimits, countSchema } from './check.ts';
import { conversation, requestModel, state } from './conversation.ts';
import { names } from './names.ts';
import { methodRoutes, modelPath } from './routes.ts';

export const countTokens: CountTokensOperation = {
  name: 'count-tokens',
  summary: 'Count the tokens of a conversation',
  telemetryName: 'count_tokens',

  routes: (prefixes) => methodRoutes(prefixes, { countTokens: { match: () => ({}) } }),
  schema: countSchema,
  names,
  checkLimits: checkCountLimits,
  check: checkCount,
  example: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  conversation,
  encodeCount: (tokens) => ({ totalTokens: tokens }),

  upstreamPath: (model) => modelPath(model, 'countTokens'),
  gatewayFields: [],
  requestModel,
  state,
  countBody: (body, target) => ({ generateContentRequest: { model: `models/${target.model}`, ...body } }),
  decodeCount: (body) => (Number.isInteger(body?.totalTokens) ? body.totalTokens : undefined),

  modelPaths: [],
  usageOf: () => undefined,
  factsOf: () => ({}),
};
