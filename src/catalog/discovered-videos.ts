/** Discovery of video models, from lists in the formats of OpenRouter and Polygate. */

import { isObject, type Json, textOf } from '../core/json/json.ts';
import type { CatalogModel } from '../core/model.ts';
import type { FrameType, ReferenceType, VideoAbilities } from '../core/video.ts';
import { type KnownEntries, listedModel } from './bundled.ts';
import { exactPrice, shiftDecimal } from './decimal.ts';
import type { CatalogEntry } from './entry.ts';

/** Parses `{data: [{id, supported_durations, ...}]}`. */
export function discoveredVideoModels(
  provider: string,
  body: Json,
  vendor = provider,
  known?: KnownEntries,
): CatalogModel[] {
  const models: Json[] = Array.isArray(body?.data) ? body.data : [];
  return models
    .filter((model) => isObject(model) && typeof model.id === 'string' && model.id !== '')
    .map((model) => listedModel(provider, { entry: entryOf(provider, model) }, vendor, known));
}

function entryOf(provider: string, model: Json): CatalogEntry {
  const video = abilitiesOf(model);
  return {
    id: model.id,
    name: textOf(model.name),
    description: textOf(model.description),
    canonicalSlug: textOf(model.canonical_slug) && `${provider}/${model.canonical_slug}`,
    created: Number.isSafeInteger(model.created) && model.created > 0 ? model.created : undefined,
    outputModalities: ['video'],
    inputModalities: video.frames ? ['text', 'image'] : ['text'],
    video,
  };
}

/** Limit of references where the list gives none; more than any model accepts. */
const MAX_UNLISTED_REFERENCES = 16;

function referencesOf(limits: Json): VideoAbilities['references'] {
  if (!isObject(limits))
    return { image: MAX_UNLISTED_REFERENCES, video: MAX_UNLISTED_REFERENCES, audio: MAX_UNLISTED_REFERENCES };
  return Object.fromEntries(
    REFERENCE_TYPES.map((type) => [type, limits[type]]).filter(([, limit]) => isPositiveInteger(limit)),
  );
}

const REFERENCE_TYPES: readonly ReferenceType[] = ['image', 'video', 'audio'];

function abilitiesOf(model: Json): VideoAbilities {
  const frames = textsOf(model.supported_frame_images)?.filter(isFrame);
  const own = ['creativity', 'upscale_factor'].filter((name) => model[name] !== null && model[name] !== undefined);
  return defined({
    durations: Array.isArray(model.supported_durations)
      ? model.supported_durations.filter(isPositiveInteger)
      : undefined,
    resolutions: textsOf(model.supported_resolutions),
    aspectRatios: textsOf(model.supported_aspect_ratios),
    sizes: textsOf(model.supported_sizes),
    frames: frames && frames.length > 0 ? frames : undefined,
    references: referencesOf(model.supported_input_references),
    audio: model.generate_audio === true ? true : undefined,
    seed: model.seed === true ? true : undefined,
    negativePrompt: model.negative_prompt === true ? true : undefined,
    count: isPositiveInteger(model.max_n) ? model.max_n : undefined,
    // Vendor-specific parameters are passed in `provider`.
    passthrough: ['provider', 'previous_job_id', ...own],
    prices: pricesOf(model.pricing_skus),
  });
}

const PER_SECOND_PRICE_PATTERNS = [
  // Names of Polygate.
  /^per-video-second(?:-(?<resolution>\d+[pkPK]))?(?<audio>-audio)?$/,
  /^(?:text_to_video_)?duration_seconds(?<audio>_with_audio)?(?:_without_audio)?(?:_(?<resolution>\d+[pkPK]))?$/,
  /^(?<cents>cents)_per_(?:video_output_second|second_output)(?:_(?<resolution>\d+[pkPK]))?(?<audio>_with_audio)?(?:_without_audio)?$/,
];

/** Prices by their various names; prices that depend on other parameters are skipped. */
function pricesOf(skus: Json): Record<string, string> | undefined {
  if (!isObject(skus)) return undefined;
  const prices: Record<string, string> = {};
  for (const [name, given] of Object.entries(skus)) {
    const own = priceName(name);
    const amount = exactPrice(own?.cents ? shiftDecimal(given, -2) : given);
    if (own && amount !== undefined) prices[own.name] = amount;
  }
  const token = prices['per-video-token-audio'];
  if (token !== undefined) prices['per-video-token'] ??= token;
  return Object.keys(prices).length > 0 ? prices : undefined;
}

function priceName(sku: string): { name: string; cents: boolean } | undefined {
  for (const pattern of PER_SECOND_PRICE_PATTERNS) {
    const groups = pattern.exec(sku)?.groups;
    if (!groups) continue;
    const { resolution, audio, cents } = groups;
    const name = `per-video-second${resolution ? `-${resolution.toLowerCase()}` : ''}${audio ? '-audio' : ''}`;
    return { name, cents: cents !== undefined };
  }
  const own = OTHER_PRICE_NAMES.get(sku);
  return own === undefined ? undefined : { name: own, cents: false };
}

const OTHER_PRICE_NAMES = new Map([
  ['per-video', 'per-video'],
  ['per-video-token', 'per-video-token'],
  ['per-video-token-audio', 'per-video-token-audio'],
  ['video_tokens', 'per-video-token-audio'],
  ['video_tokens_without_audio', 'per-video-token'],
]);

function textsOf(value: Json): string[] | undefined {
  const texts = Array.isArray(value) ? value.filter((item) => textOf(item) !== undefined) : [];
  return texts.length > 0 ? texts : undefined;
}

function isPositiveInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isFrame(value: string): value is FrameType {
  return value === 'first_frame' || value === 'last_frame';
}

function defined(abilities: VideoAbilities): VideoAbilities {
  return Object.fromEntries(Object.entries(abilities).filter(([, value]) => value !== undefined));
}
