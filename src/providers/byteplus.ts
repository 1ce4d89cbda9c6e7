/** BytePlus ModelArk, ByteDance's Ark outside China: Seed and other models, and Seedance. Keys are regional. */

import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';
import { seedance } from './videos/seedance.ts';

export const byteplus = chatServer({
  id: 'byteplus',
  name: 'BytePlus ModelArk',
  environment: ['BYTEPLUS_API_KEY'],
  baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(applyRules),
  video: seedance,
});
