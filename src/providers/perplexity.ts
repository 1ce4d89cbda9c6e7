/** Perplexity: one system turn, then strictly alternating user and assistant turns. */

import { reasoningAsEffort } from './dialect/fields.ts';
import { alternatingTurns, mergeSystemTurns } from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

export const perplexity = chatServer({
  id: 'perplexity',
  name: 'Perplexity',
  environment: ['PERPLEXITY_API_KEY'],
  billsReportedCost: true,
  baseUrl: 'https://api.perplexity.ai',
  modelsPath: null,
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(reasoningAsEffort, applyRules, mergeSystemTurns, alternatingTurns),
});
