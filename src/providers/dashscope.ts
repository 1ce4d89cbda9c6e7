/** Alibaba Cloud Model Studio: Qwen and other models; Wan videos at another path. Keys are regional. */

import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';
import { dashscope as video } from './videos/dashscope.ts';

export const dashscope = chatServer({
  id: 'dashscope',
  name: 'Alibaba Cloud Model Studio',
  environment: ['DASHSCOPE_API_KEY'],
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  chatBase: /\/compatible-mode\/v1$/,
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(applyRules),
  video,
});
