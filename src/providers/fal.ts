/** fal, which makes videos only. */

import { videoServer } from './type.ts';
import { falQueue } from './videos/fal-queue.ts';

export const fal = videoServer({
  id: 'fal',
  name: 'fal',
  environment: ['FAL_KEY', 'FAL_API_KEY'],
  baseUrl: 'https://queue.fal.run',
  credential: (key) => ({ authorization: `Key ${key}` }),
  video: falQueue,
});
