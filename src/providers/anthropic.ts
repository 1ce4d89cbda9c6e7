/** Anthropic, and any other server of the messages protocol. */

import { providerType } from './type.ts';

export const anthropic = providerType({
  id: 'anthropic',
  name: 'Anthropic',
  dialects: [{ protocol: 'messages', countsTokens: true }],
  environment: ['ANTHROPIC_API_KEY'],
  baseUrl: 'https://api.anthropic.com',
  version: /\/v1$/,
  catalog: 'anthropic',
  modelsPath: '/v1/models',
  credential: (key) => ({ 'x-api-key': key }),
  headers: { 'anthropic-version': '2023-06-01' },
});
