/** The generateContent protocol of Gemini. */

import type { CountTokensOperation } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import { encodeModel, encodeModels } from './catalog.ts';
import { catalogRoutes, pageParameters } from './catalog-routes.ts';
import { complete } from './complete.ts';
import { countTokens } from './count-tokens.ts';
import { credentials } from './credentials.ts';
import { embed } from './embed.ts';
import { decodeError, encodeError, errorIn } from './errors.ts';
import { parameterName } from './parameters.ts';

export const generate: Protocol & { operations: { 'count-tokens': CountTokensOperation } } = {
  id: 'generate',
  apiType: 'generate',
  operations: { complete, 'count-tokens': countTokens, embed },

  catalogRoutes,
  pageParameters,
  credentials,
  encodeError,
  requestIdHeader: 'x-request-id',
  parameterName,
  encodeModel,
  encodeModels,

  forwardedHeaders: { 'x-server-timeout': 'x-server-timeout' },
  decodeError,
  errorIn,
};
