/** Descriptions of the routes that report the usage and the limits of a key. */

import { type TSchema, Type } from 'typebox';
import type { RouteDescription } from '../route-table.ts';
import { CURRENT_STATE, type Parameter } from './operation.ts';

const query = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });

/** By the last segment of the path. */
export const ACCOUNT_DESCRIPTIONS = {
  usage: {
    id: 'own_usage',
    tag: 'use',
    summary: 'What the key has used',
    query: [
      query('from', Type.String(), 'The first day, or moment.'),
      query('to', Type.String(), 'The last.'),
      query('by', Type.Enum(['day', 'hour', 'model', 'provider']), 'What is summed up.'),
    ],
    answer: CURRENT_STATE,
  },
  generation: {
    id: 'own_generation',
    tag: 'use',
    summary: 'What one request of the key used',
    query: [query('id', Type.String(), 'Of the request.')],
    answer: CURRENT_STATE,
  },
  key: { id: 'own_key', tag: 'use', summary: 'What the key may still use', answer: CURRENT_STATE },
  credits: {
    id: 'own_credits',
    tag: 'use',
    summary: 'What its tightest budget holds and has used',
    answer: CURRENT_STATE,
  },
} satisfies Record<string, RouteDescription>;
