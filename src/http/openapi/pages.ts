/** What is looked at: a key's own use, signs of life, figures, and this description itself. */

import { type TSchema, Type } from 'typebox';
import { type ApiOperation, anyObject, JSON_TYPE, type Parameter } from './operation.ts';

const query = (name: string, schema: TSchema, description: string): Parameter => ({ name, schema, description });

function look(
  path: string,
  id: string,
  facts: Partial<ApiOperation> & Pick<ApiOperation, 'summary' | 'access'>,
): ApiOperation {
  const answer = { status: 200, description: 'As it is now.', type: JSON_TYPE, schema: anyObject };
  return { method: 'GET', path, id, tag: facts.access === 'key' ? 'use' : 'operation', answer, ...facts };
}

export const pageOperations: readonly ApiOperation[] = [
  look('/v1/usage', 'own_usage', {
    summary: 'What the key has used',
    access: 'key',
    query: [
      query('from', Type.String(), 'The first day, or moment.'),
      query('to', Type.String(), 'The last.'),
      query('by', Type.Enum(['day', 'hour', 'model', 'provider']), 'What is summed up.'),
    ],
  }),
  look('/v1/generation', 'own_generation', {
    summary: 'What one request of the key used',
    access: 'key',
    query: [query('id', Type.String(), 'Of the request.')],
  }),
  look('/v1/key', 'own_key', { summary: 'What the key may still use', access: 'key' }),
  look('/v1/credits', 'own_credits', { summary: 'What its tightest budget holds and has used', access: 'key' }),
  look('/healthz', 'health', { summary: 'Whether the gateway lives', access: 'anyone' }),
  look('/readyz', 'readiness', { summary: 'Whether requests should be sent here', access: 'anyone' }),
  look('/metrics', 'metrics', {
    summary: 'Figures in the format of Prometheus; without an admin token only on a gateway that listens on loopback',
    access: 'admin',
    answer: { status: 200, description: 'The figures.', type: 'text/plain', schema: Type.String() },
  }),
  look('/openapi.json', 'openapi', { summary: 'This description', access: 'anyone' }),
];
