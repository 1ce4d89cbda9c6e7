/** Any other servers of chat completions, Responses or videos, with only the changes that every such server accepts. */

import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer, providerType } from './type.ts';
import { openaiVideos } from './videos/openai-videos.ts';

export const openaiCompatible = chatServer({
  id: 'openai-compatible',
  name: 'OpenAI-compatible server',
  environment: [],
  keyless: true,
  rules: { tokenField: 'max_tokens', systemRole: 'system' },
  adapt: dialect(applyRules),
  responses: { rules: { systemRole: 'system', customTools: false } },
  choosesProtocols: true,
  video: openaiVideos,
});

/** A server of the Responses protocol, such as one that follows Open Responses, which has only function tools. */
export const openResponses = providerType({
  id: 'open-responses',
  name: 'Open Responses server',
  environment: [],
  keyless: true,
  dialects: [{ protocol: 'responses', rules: { systemRole: 'system', customTools: false } }],
  modelsPath: '/models',
});
