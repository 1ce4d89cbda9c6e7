/** Chat completions: the wire of OpenAI and of most other servers, towards clients and towards upstreams. */

import type { Protocol } from '../../core/protocol.ts';
import { encodeModel, encodeModelCount, encodeModels } from '../openai-catalog.ts';
import { decodeError, encodeError } from '../openai-errors.ts';
import { credentials } from '../openai-request.ts';
import { catalogRoutes, pageParameters } from './catalog-routes.ts';
import { complete } from './complete.ts';
import { embed } from './embed.ts';
import { errorIn } from './errors.ts';
import { parameterName } from './parameters.ts';

export const chat: Protocol = {
  id: 'chat',
  apiType: 'completions',
  operations: { complete, embed },

  catalogRoutes: () => catalogRoutes,
  pageParameters,
  credentials,
  encodeError,
  requestIdHeader: 'x-request-id',
  parameterName,
  encodeModel,
  encodeModels,
  encodeModelCount,

  forwardedHeaders: {},
  decodeError,
  errorIn,
};
