/** Volcengine Ark, ByteDance's own cloud: Doubao and other models, and Seedance. */

import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';
import { seedance } from './videos/seedance.ts';

export const volcengine = chatServer({
  id: 'volcengine',
  name: 'Volcengine Ark',
  environment: ['VOLCENGINE_API_KEY'],
  baseUrl: 'https://ark.cn-beijing.volces.com/api/v3',
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(applyRules),
  video: seedance,
});
