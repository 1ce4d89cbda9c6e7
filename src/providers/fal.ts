/** fal makes videos only; the protocol is a formality. */

import { providerType } from './type.ts';
import { falQueue } from './videos/fal-queue.ts';

export const fal = providerType({
  id: 'fal',
  name: 'fal',
  protocol: 'chat',
  environment: ['FAL_KEY', 'FAL_API_KEY'],
  baseUrl: 'https://queue.fal.run',
  catalog: 'fal',
  credential: (key) => ({ authorization: `Key ${key}` }),
  video: falQueue,
});
