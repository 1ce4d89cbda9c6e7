/** Luma's Dream Machine. */

import { videoServer } from './type.ts';
import { luma as video } from './videos/luma.ts';

export const luma = videoServer({
  id: 'luma',
  name: 'Luma',
  environment: ['LUMAAI_API_KEY'],
  baseUrl: 'https://api.lumalabs.ai/dream-machine/v1',
  video,
});
