/** llama.cpp server. */

import { openModels } from './dialect/open-models.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const llamaCpp = chatServer({
  id: 'llama-cpp',
  name: 'llama.cpp',
  environment: ['LLAMA_API_KEY'],
  keyless: true,
  baseUrl: 'http://localhost:8080/v1',
  responses: true,
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(...openModels),
});
