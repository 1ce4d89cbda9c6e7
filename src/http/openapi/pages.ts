/** Descriptions of the routes that are only read: a key's own account, health, metrics, and the description of the API. */

import { type TSchema, Type } from 'typebox';
import type { RouteDescription } from '../route-table.ts';
import { anyObject, JSON_TYPE, type Parameter } from './operation.ts';

const query = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });

const ANSWER: RouteDescription['answer'] = {
  status: 200,
  description: 'As it is now.',
  type: JSON_TYPE,
  schema: anyObject,
};

/** By the last part of the path. */
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
    answer: ANSWER,
  },
  generation: {
    id: 'own_generation',
    tag: 'use',
    summary: 'What one request of the key used',
    query: [query('id', Type.String(), 'Of the request.')],
    answer: ANSWER,
  },
  key: { id: 'own_key', tag: 'use', summary: 'What the key may still use', answer: ANSWER },
  credits: { id: 'own_credits', tag: 'use', summary: 'What its tightest budget holds and has used', answer: ANSWER },
} satisfies Record<string, RouteDescription>;

/** By the name of the route. */
export const SYSTEM_DESCRIPTIONS = {
  health: { id: 'health', tag: 'operation', summary: 'Whether the gateway lives', answer: ANSWER },
  readiness: { id: 'readiness', tag: 'operation', summary: 'Whether requests should be sent here', answer: ANSWER },
  metrics: {
    id: 'metrics',
    tag: 'operation',
    summary: 'Figures in the format of Prometheus; without an admin token only on a gateway that listens on loopback',
    answer: { status: 200, description: 'The figures.', type: 'text/plain', schema: Type.String() },
  },
  openapi: { id: 'openapi', tag: 'operation', summary: 'This description', answer: ANSWER },
} satisfies Record<string, RouteDescription>;
