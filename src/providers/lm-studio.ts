/** LM Studio: tool choice by keyword only, JSON mode only with a schema. */

import { jsonModeAsSchema, namedToolAsOnlyTool } from './dialect/fields.ts';
import { openModels } from './dialect/open-models.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const lmStudio = chatServer({
  id: 'lm-studio',
  name: 'LM Studio',
  environment: ['LM_STUDIO_API_KEY'],
  keyless: true,
  baseUrl: 'http://localhost:1234/v1',
  responses: true,
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(...openModels, namedToolAsOnlyTool, jsonModeAsSchema),
});
