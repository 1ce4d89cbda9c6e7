/** Names of the prices of a model, as OpenRouter's list has them, and prices of searches. */

import type { Pricing } from './model.ts';

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

/** A provider bills searches one by one, or once for a request that searches. */
export const SEARCH_PRICES = ['web_search', 'web_search_request'] as const;

/** The prices, with that of a search in `known` where they have none. Without any price the cost stays unknown. */
export function withSearchPrice(pricing: Pricing, known: Pricing | undefined): Pricing {
  if (known === undefined || Object.keys(pricing).length === 0) return pricing;
  if (SEARCH_PRICES.some((name) => pricing[name] !== undefined)) return pricing;
  const found = SEARCH_PRICES.flatMap((name) => (known[name] === undefined ? [] : [[name, known[name]]]));
  return found.length === 0 ? pricing : { ...pricing, ...Object.fromEntries(found) };
}
