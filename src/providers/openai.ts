/** OpenAI, with the rules of its newest reasoning models; the catalog relaxes them for others. */

import { shortCallId } from '../core/results.ts';
import { EXTENSIONS, reasoningAsEffort, without } from './dialect/fields.ts';
import { callIds } from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { type DialectStep, dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';
import { openaiVideos } from './videos/openai-videos.ts';

/** Every model accepts the newer field names, so the older names in the rules of older models do not patch a request. */
const applyRulesKeepingNewNames: DialectStep = (body, rules, result) => {
  const { systemRole, tokenField, ...others } = rules;
  applyRules(body, tokenField === 'max_tokens' ? others : { ...others, tokenField }, result);
};

export const openai = chatServer({
  id: 'openai',
  name: 'OpenAI',
  environment: ['OPENAI_API_KEY'],
  baseUrl: 'https://api.openai.com/v1',
  catalog: 'openai',
  responses: { countsTokens: true, keepsResponses: true },
  rules: {
    tokenField: 'max_completion_tokens',
    systemRole: 'developer',
    sampling: 'without-reasoning',
    penalties: false,
    logprobs: false,
    logitBias: false,
    embeddingTokens: true,
  },
  // Unknown fields are refused at the top level and ignored inside messages, so the history stays unchanged, apart from long ids.
  adapt: dialect(reasoningAsEffort, without(...EXTENSIONS), applyRulesKeepingNewNames, callIds(shortCallId)),
  video: openaiVideos,
});
