/** xAI. Its models refuse penalties and stop sequences, and its Responses some members of OpenAI's. */

import { reasoningAsEffort, renamed, without } from './dialect/fields.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';
import { grokImagine } from './videos/grok-imagine.ts';

export const xai = chatServer({
  id: 'xai',
  name: 'xAI',
  environment: ['XAI_API_KEY'],
  billsReportedCost: true,
  baseUrl: 'https://api.x.ai/v1',
  catalog: 'xai',
  responses: {
    keepsResponses: true,
    rules: { systemRole: 'system', penalties: false, stop: false, customTools: false },
    adaptTranslated: dialect(renamed('safety_identifier', 'user'), without('metadata', 'service_tier')),
  },
  prefersResponses: true,
  rules: { systemRole: 'system', penalties: false, stop: false },
  adapt: dialect(reasoningAsEffort, applyRules),
  video: grokImagine,
});
