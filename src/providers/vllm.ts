/** vLLM. */

import { openModels } from './dialect/open-models.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const vllm = chatServer({
  id: 'vllm',
  name: 'vLLM',
  environment: ['VLLM_API_KEY'],
  keyless: true,
  baseUrl: 'http://localhost:8000/v1',
  responses: true,
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(...openModels),
});
