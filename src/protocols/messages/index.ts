/** The messages protocol: Anthropic's wire format, towards clients and towards upstreams. */

import type { CountTokensOperation } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import { encodeModel, encodeModels } from './catalog.ts';
import { catalogRoutes, pageParameters } from './catalog-routes.ts';
import { complete } from './complete.ts';
import { countTokens } from './count-tokens.ts';
import { checkHeaders, credentials } from './credentials.ts';
import { decodeError, encodeError, errorIn } from './errors.ts';
import { parameterName } from './parameters.ts';

export const messages: Protocol & { operations: { 'count-tokens': CountTokensOperation } } = {
  id: 'messages',
  apiType: 'messages',
  operations: { complete, 'count-tokens': countTokens },

  catalogRoutes,
  pageParameters,
  credentials,
  checkHeaders,
  encodeError,
  requestIdHeader: 'request-id',
  parameterName,
  encodeModel,
  encodeModels,

  forwardedHeaders: {
    'anthropic-version': 'anthropic-version',
    'msg-protocol-version': 'anthropic-version',
    'anthropic-beta': 'anthropic-beta',
    'anthropic-user-profile-id': 'anthropic-user-profile-id',
  },
  decodeError,
  errorIn,
  readsError: ({ error }) => typeof error.type === 'string',
};
