/** Replicate: any of its video models, as `owner/name` or `owner/name:version`. */

import { videoServer } from './type.ts';
import { replicate as video } from './videos/replicate.ts';

export const replicate = videoServer({
  id: 'replicate',
  name: 'Replicate',
  environment: ['REPLICATE_API_TOKEN'],
  baseUrl: 'https://api.replicate.com/v1',
  video,
});
