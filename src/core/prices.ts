/** Names of the prices of a model, as OpenRouter's list has them, and prices of searches. */

import type { Pricing } from './model.ts';

/** Per token, except those of `UNITS`. */
export const PRICE_NAMES = [
  'prompt',
  'completion',
  'request',
  'image',
  'image_token',
  'image_output',
  'image_tool_input',
  'image_tool_output',
  'audio',
  'audio_output',
  'input_audio_cache',
  'web_search',
  'web_search_request',
  'file_search',
  'container',
  'maps_request',
  'internal_reasoning',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_5m',
  'input_cache_write_1h',
] as const;

/** Units of prices that are not of tokens. */
export const UNITS: Readonly<Record<string, string>> = {
  request: 'request',
  image: 'image',
  web_search: 'search',
  web_search_request: 'request that searches',
  file_search: 'search in stored files',
  container: 'container, or gigabyte of it',
  maps_request: 'answer with places of a map',
};

/** Form of the names of the prices of a video model, e.g. `per-video-second-1080p-audio`. */
export const VIDEO_PRICE_NAME = /^per-video(-second(-\d+[pk])?(-audio)?|-token(-audio)?)?$/;

/** A provider bills searches one by one, or once for a request that searches. */
export const SEARCH_PRICES = ['web_search', 'web_search_request'] as const;

/** Of other tools that the provider runs: tokens of the model behind one that makes images, searches in files, containers, places of a map. */
export const TOOL_PRICES = [
  'image_tool_input',
  'image_tool_output',
  'file_search',
  'container',
  'maps_request',
] as const;

/** The prices, with those of the tools of the provider in `known` where they have none. Without any price the cost stays unknown. */
export function withToolPrices(pricing: Pricing, known: Pricing | undefined): Pricing {
  if (known === undefined || Object.keys(pricing).length === 0) return pricing;
  const isSearchPriced = SEARCH_PRICES.some((name) => pricing[name] !== undefined);
  const names = isSearchPriced ? TOOL_PRICES : [...SEARCH_PRICES, ...TOOL_PRICES];
  const found = names.flatMap((name) =>
    pricing[name] === undefined && known[name] !== undefined ? [[name, known[name]]] : [],
  );
  return found.length === 0 ? pricing : { ...pricing, ...Object.fromEntries(found) };
}

/** Whether the price of a model is known in advance. */
export function isPriced({ pricing }: { pricing: Pricing }): boolean {
  for (const name in pricing) if (Object.hasOwn(pricing, name)) return true;
  return false;
}
