/** Names of the prices of a model, as OpenRouter's list has them. */

/** Per token, except `request`, `image`, `web_search` and `web_search_request`: per request, image, search and request that searches. */
export const PRICE_NAMES = [
  'prompt',
  'completion',
  'request',
  'image',
  'image_token',
  'image_output',
  'audio',
  'audio_output',
  'input_audio_cache',
  'web_search',
  'web_search_request',
  'internal_reasoning',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_5m',
  'input_cache_write_1h',
] as const;

/** Form of the names of the prices of a video model, e.g. `per-video-second-1080p-audio`. */
export const VIDEO_PRICE_NAME = /^per-video(-second(-\d+[pk])?(-audio)?|-token(-audio)?)?$/;
