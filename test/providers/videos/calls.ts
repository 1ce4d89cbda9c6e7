/** Asking an adapter without a server: responses in, results out. */

import type { Json } from '../../../src/core/json/json.ts';
import type { VideoRequest, VideoResponse } from '../../../src/core/video.ts';

export function response(body: Json, status = 200, headers: VideoResponse['headers'] = {}): VideoResponse {
  return { status, headers, body };
}

export function ask(fields: Partial<VideoRequest> = {}): VideoRequest {
  return { model: 'some/model', prompt: 'a red kite', frames: [], references: [], count: 1, ...fields };
}

export const context = { attemptId: '0b9e4c1e-8a3f-4b68-9d2a-000000000001' };

/** A pixel. */
export const image = { data: 'iVBORw0KGgo=', mime: 'image/png' };
export const imageUrl = { url: 'https://example.com/first.png' };
export const DATA_URI = 'data:image/png;base64,iVBORw0KGgo=';

/** Everything that can be asked for. */
export const everything = ask({
  duration: 8,
  resolution: '1080P',
  aspectRatio: '16:9',
  size: '1920x1080',
  audio: false,
  seed: 0,
  negativePrompt: 'rain',
  count: 2,
  options: { style: 'film', model: 'other' },
});
