/** Ollama, by default on this machine. */

import { openModels } from './dialect/open-models.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const ollama = chatServer({
  id: 'ollama',
  name: 'Ollama',
  environment: ['OLLAMA_API_KEY'],
  keyless: true,
  baseUrl: 'http://localhost:11434/v1',
  responses: true,
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(...openModels),
});
