/** Responses: OpenAI's newer wire, towards clients and towards upstreams that speak it. */

import type { CountTokensOperation } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import { decodeError, encodeError } from '../openai-errors.ts';
import { credentials } from '../openai-request.ts';
import { catalogRoutes, encodeModel, encodeModels } from './codex-catalog.ts';
import { compact } from './compact.ts';
import { complete } from './complete.ts';
import { countTokens } from './count-tokens.ts';
import { errorIn } from './errors.ts';
import { parameterName } from './parameters.ts';
import { socket } from './socket.ts';

export const responses: Protocol & { operations: { 'count-tokens': CountTokensOperation } } = {
  id: 'responses',
  apiType: 'responses',
  operations: { complete, 'count-tokens': countTokens, compact },

  socket,
  // Other clients ask for models as those of chat completions do.
  catalogRoutes: () => catalogRoutes,
  credentials,
  encodeError,
  requestIdHeader: 'x-request-id',
  parameterName,
  encodeModel,
  encodeModels,

  forwardedHeaders: {
    'openai-beta': 'openai-beta',
    originator: 'originator',
    session_id: 'session_id',
    'session-id': 'session-id',
    'thread-id': 'thread-id',
  },
  decodeError,
  errorIn,
};
