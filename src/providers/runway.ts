/** Runway: videos by its own models and those of other vendors. */

import { videoServer } from './type.ts';
import { runway as video } from './videos/runway.ts';

export const runway = videoServer({
  id: 'runway',
  name: 'Runway',
  environment: ['RUNWAYML_API_SECRET'],
  baseUrl: 'https://api.dev.runwayml.com',
  version: /\/v1$/,
  headers: { 'x-runway-version': '2024-11-06' },
  video,
});
