/** The operation `compact` of the Responses protocol: a shorter history of a conversation. */

import type { CompactOperation } from '../../core/operation.ts';
import { complete } from './complete.ts';
import { conversationName } from './conversation.ts';
import { compactSchema } from './request-schema.ts';

const PATH = '/v1/responses/compact';

const { names, checkLimits, check, example, conversation, gatewayFields, requestModel, state, stored, usageOf, cost } =
  complete;

export const compact: CompactOperation = {
  name: 'compact',
  summary: 'Compact a conversation',
  telemetryName: 'chat',

  routes: () => [
    { method: 'POST', path: PATH, match: (rest) => (rest.length === 0 ? {} : undefined), templates: [{ path: PATH }] },
  ],
  schema: compactSchema,
  names,
  checkLimits,
  check,
  example,
  conversation,
  conversationName,

  upstreamPath: () => '/responses/compact',
  gatewayFields,
  requestModel,
  ...(state && { state }),
  ...(stored && { stored }),

  modelPaths: [],
  usageOf,
  factsOf: () => ({}),
  ...(cost && { cost }),
};
