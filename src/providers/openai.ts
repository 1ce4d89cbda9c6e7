/** OpenAI, with the rules of its newest reasoning models; the catalog relaxes them for others. */

import { adaptOpenai, OPENAI_RULES } from './dialect/open-models.ts';
import { chatServer } from './type.ts';
import { openaiVideos } from './videos/openai-videos.ts';

export const openai = chatServer({
  id: 'openai',
  name: 'OpenAI',
  environment: ['OPENAI_API_KEY'],
  baseUrl: 'https://api.openai.com/v1',
  catalog: 'openai',
  responses: { countsTokens: true, keepsResponses: true },
  rules: OPENAI_RULES,
  adapt: adaptOpenai,
  video: openaiVideos,
});
