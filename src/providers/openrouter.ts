/** OpenRouter adapts requests to its models itself. State of a model belongs to the model's vendor. */

import { chatServer } from './type.ts';
import { openrouterVideos } from './videos/openrouter-videos.ts';

export const openrouter = chatServer({
  id: 'openrouter',
  name: 'OpenRouter',
  environment: ['OPENROUTER_API_KEY'],
  billsReportedCost: true,
  baseUrl: 'https://openrouter.ai/api/v1',
  catalog: 'openrouter',
  videoModelsPath: '/videos/models',
  family: (model) => model.split('/', 1)[0] ?? model,
  video: openrouterVideos,
});
