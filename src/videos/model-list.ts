/** List of video models in OpenRouter's format, with additional fields. */

import type { Json } from '../core/json/json.ts';
import type { CatalogModel } from '../core/model.ts';
import { createdOf } from '../protocols/catalog-model.ts';

export function encodeVideoModels(models: readonly CatalogModel[]): Json {
  return { data: models.filter(({ video }) => video).map(encodeVideoModel) };
}

function encodeVideoModel(model: CatalogModel): Json {
  const { id, canonicalSlug, name, description, video = {} } = model;
  return {
    id,
    canonical_slug: canonicalSlug,
    name,
    created: createdOf(model),
    description,
    supported_durations: video.durations ?? null,
    supported_resolutions: video.resolutions ?? null,
    supported_aspect_ratios: video.aspectRatios ?? null,
    supported_sizes: video.sizes ?? null,
    supported_frame_images: video.frames ?? null,
    supported_input_references: video.references ?? {},
    generate_audio: video.audio ?? false,
    seed: video.seed ?? false,
    negative_prompt: video.negativePrompt ?? false,
    max_n: video.count ?? 1,
    creativity: null,
    upscale_factor: null,
    allowed_passthrough_parameters: video.passthrough ?? [],
    pricing_skus: video.prices ?? null,
  };
}
