/** Descriptions of the routes that report the usage and the limits of a key. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { ownKey } from '../key-schema.ts';
import type { RouteDescription } from '../route-table.ts';
import { CURRENT_STATE, type Parameter } from './operation.ts';

const query = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });

/** By the last segment of the path. */
export const ACCOUNT_DESCRIPTIONS = {
  usage: {
    id: 'own_usage',
    tag: 'use',
    summary: 'Usage of the key',
    query: [
      query('from', Type.String(), 'The first day, or moment.'),
      query('to', Type.String(), 'The last.'),
      query('by', Type.Enum(['day', 'hour', 'model', 'provider']), 'What is summed up.'),
    ],
    response: CURRENT_STATE,
  },
  generation: {
    id: 'own_generation',
    tag: 'use',
    summary: 'Usage of one request of the key',
    query: [query('id', Type.String(), 'Of the request.')],
    response: CURRENT_STATE,
  },
  key: {
    id: 'own_key',
    tag: 'use',
    summary: 'What the key may do, and its remaining limits and budgets',
    response: { ...CURRENT_STATE, schema: ownKey },
  },
  credits: {
    id: 'own_credits',
    tag: 'use',
    summary: 'Limit and use of the tightest budget of the key',
    response: CURRENT_STATE,
  },
} satisfies Record<string, RouteDescription>;
