/** OpenRouter, which adapts requests to its models itself. Opaque state belongs to the vendor of the model. */

import { chatServer } from './type.ts';
import { openrouterVideos } from './videos/openrouter-videos.ts';

export const openrouter = chatServer({
  id: 'openrouter',
  name: 'OpenRouter',
  environment: ['OPENROUTER_API_KEY'],
  billsReportedCost: true,
  baseUrl: 'https://openrouter.ai/api/v1',
  catalog: 'openrouter',
  responses: true,
  videoModelsPath: '/videos/models',
  family: (model) => model.split('/', 1)[0] ?? model,
  video: openrouterVideos,
});
