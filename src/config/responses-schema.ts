/** Configuration schema: stored responses. */

import type { Static } from 'typebox';
import * as Type from 'typebox';
import { duration, retentionPeriod, size } from './fields.ts';

/** Defaults, spelled as in the file. */
export const RESPONSES_DEFAULTS = {
  store: true,
  keep: '30d',
  maxSize: '1GiB',
  maxResponses: 100_000,
  maxChainSize: '16MiB',
  maxChainItems: 2000,
  maxBackground: 100,
  backgroundTimeout: '1h',
  hostedTools: 'drop' as const,
  compaction: 'model' as const,
};

export const responses = Type.Object(
  {
    store: Type.Optional(
      Type.Boolean({
        default: RESPONSES_DEFAULTS.store,
        description:
          'Responses are stored, encrypted, unless the client sets store to false. False stores none, and later requests cannot refer to them.',
      }),
    ),
    keep: Type.Optional(retentionPeriod('How long a response is stored.', RESPONSES_DEFAULTS.keep)),
    max_size: Type.Optional(
      size('Maximum size of the stored responses of a key; the oldest are deleted first.', RESPONSES_DEFAULTS.maxSize),
    ),
    max_responses: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000_000,
        default: RESPONSES_DEFAULTS.maxResponses,
        description: 'Maximum number of stored responses of a key; the oldest are deleted first.',
      }),
    ),
    max_chain_size: Type.Optional(
      size('Maximum size of a stored conversation that a request continues.', RESPONSES_DEFAULTS.maxChainSize),
    ),
    max_chain_items: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: RESPONSES_DEFAULTS.maxChainItems,
        description: 'Maximum number of items of a stored conversation that a request continues.',
      }),
    ),
    max_background: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        default: RESPONSES_DEFAULTS.maxBackground,
        description: 'Maximum number of unfinished background responses of a key.',
      }),
    ),
    background_timeout: Type.Optional(
      duration('Time from the request to the end of a background response.', RESPONSES_DEFAULTS.backgroundTimeout),
    ),
    hosted_tools: Type.Optional(
      Type.Union([Type.Literal('drop'), Type.Literal('refuse')], {
        default: RESPONSES_DEFAULTS.hostedTools,
        description:
          'Web search beside other tools for a model that has none. drop: it is left out and named. refuse: the request is refused, as it is where web search is the only tool.',
      }),
    ),
    compaction: Type.Optional(
      Type.Union([Type.Literal('model'), Type.Literal('upstream')], {
        default: RESPONSES_DEFAULTS.compaction,
        description:
          'Compaction by a provider that has none. model: the model summarizes the conversation. upstream: the request is refused.',
      }),
    ),
  },
  { additionalProperties: false, description: 'The Responses protocol: stored responses and hosted tools.' },
);

export type ResponsesEntry = Static<typeof responses>;
