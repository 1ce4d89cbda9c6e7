/** MiniMax: language models; videos at another path. */

import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';
import { minimax as video } from './videos/minimax.ts';

export const minimax = chatServer({
  id: 'minimax',
  name: 'MiniMax',
  environment: ['MINIMAX_API_KEY'],
  baseUrl: 'https://api.minimax.io/v1',
  chatBase: /\/v1$/,
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(applyRules),
  video,
});
