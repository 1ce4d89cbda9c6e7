/** Another Polygate gateway as an upstream. */

import { chatServer } from './type.ts';
import { polygateVideos } from './videos/openai-videos.ts';

export const polygate = chatServer({
  id: 'polygate',
  name: 'Polygate',
  environment: [],
  billsReportedCost: true,
  keyless: true,
  videoModelsPath: '/videos/models',
  family: (model) => model.split('/', 1)[0] ?? model,
  video: polygateVideos,
});
