/** Together AI. */

import { allowedTools } from './dialect/fields.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const together = chatServer({
  id: 'together',
  name: 'Together AI',
  environment: ['TOGETHER_API_KEY'],
  baseUrl: 'https://api.together.xyz/v1',
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(allowedTools, applyRules),
});
