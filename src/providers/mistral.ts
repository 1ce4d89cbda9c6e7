/** Mistral: refuses unknown fields, renames a few, and requires tool call ids of nine characters. */

import { adaptMistral } from './dialect/open-models.ts';
import { chatServer } from './type.ts';

export const mistral = chatServer({
  id: 'mistral',
  name: 'Mistral',
  environment: ['MISTRAL_API_KEY'],
  baseUrl: 'https://api.mistral.ai/v1',
  catalog: 'mistral',
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: adaptMistral,
});
