/** Creation requests: validates the body of `POST /v1/videos` against the model's abilities. */

import { GatewayError } from '../core/errors.ts';
import { assertValid } from '../core/json/check.ts';
import type { Json } from '../core/json/json.ts';
import { merged } from '../core/json/merge.ts';
import type { CatalogModel } from '../core/model.ts';
import { defined } from '../core/plain-objects.ts';
import type { FrameType, ReferenceType, VideoAbilities, VideoRequest } from '../core/video.ts';
import type { AddressPolicy } from '../net/address-policy.ts';
import type { Creation } from './creation.ts';
import { chooseDimensions } from './dimensions.ts';
import { readInput } from './inputs.ts';
import { refuse, refuseValue } from './refusal.ts';
import { type Link, type VideoBody, videoSchema } from './request-schema.ts';

const MAX_METADATA_NAME_CHARACTERS = 64;

/** Checks the rules common to all models. Throws `invalid_request` with the field. `null` counts as absent. */
export function checkShape(body: Record<string, Json>): VideoBody {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  assertValid(videoSchema, merged({}, given));
  const checked = given as VideoBody;
  if (Object.keys(checked.metadata ?? {}).some((name) => name.length > MAX_METADATA_NAME_CHARACTERS))
    refuse('metadata', `may have names of at most ${MAX_METADATA_NAME_CHARACTERS} characters.`);
  return checked;
}

/**
 * `policy` restricts the URLs of media. The callback URL is checked elsewhere. Throws `model_not_video`,
 * `unsupported_parameter_value` and others, each with the field.
 */
export function readCreation(body: VideoBody, model: CatalogModel, policy: AddressPolicy): Creation {
  const { video: abilities, id } = model;
  if (!abilities) {
    throw new GatewayError('model_not_video', `${id} makes no videos; GET /v1/videos/models lists those that do.`, {
      param: 'model',
    });
  }
  const media = readMedia(body, { abilities, model: id, policy });
  const options = readProvider(body, model, abilities);
  const { resolution, aspect_ratio: aspectRatio, size } = body;
  const request: VideoRequest = {
    model: model.upstreamId,
    ...readPrompts(body, abilities, id),
    ...defined({ duration: readDuration(body, abilities, id) }),
    ...chooseDimensions({ resolution, aspectRatio, size }, abilities, id),
    ...readSettings(body, abilities, id),
    frames: media.frames,
    references: media.references,
    ...defined({ options: options.passed }),
  };
  requirePromptOrImage(request, abilities, id);
  return {
    model,
    request,
    ...defined({
      callbackUrl: body.callback_url,
      expiresAfter: body.execution_expires_after,
      metadata: body.metadata,
      user: body.user,
    }),
    dropped: [...media.dropped, ...options.dropped],
  };
}

/** An empty prompt counts as absent: some clients send one with an image. */
function readPrompts(body: VideoBody, { negativePrompt }: VideoAbilities, model: string) {
  const { negative_prompt: negative } = body;
  if (negative !== undefined && !negativePrompt) refuseValue({ param: 'negative_prompt', value: negative, model });
  return defined({ prompt: body.prompt?.trim() ? body.prompt : undefined, negativePrompt: negative });
}

function readDuration(body: VideoBody, { durations }: VideoAbilities, model: string): number | undefined {
  const { duration, seconds } = body;
  if (duration !== undefined && seconds !== undefined && duration !== Number(seconds)) {
    refuse('seconds', `${seconds} contradicts duration ${duration}; give one of them.`);
  }
  const value = duration ?? seconds;
  if (value === undefined) return undefined;
  const param = duration === undefined ? 'seconds' : 'duration';
  if (!durations?.includes(Number(value))) refuseValue({ param, value, allowed: durations, model });
  return Number(value);
}

function readSettings(body: VideoBody, abilities: VideoAbilities, model: string) {
  const { generate_audio: audio, seed, n = 1 } = body;
  const most = abilities.count ?? 1;
  if (audio !== undefined && !abilities.audio) refuseValue({ param: 'generate_audio', value: audio, model });
  if (seed !== undefined && !abilities.seed) refuseValue({ param: 'seed', value: seed, model });
  if (n > most) refuseValue({ param: 'n', value: n, allowed: [most === 1 ? 1 : `1 to ${most}`], model });
  return { ...defined({ audio, seed }), count: n };
}

interface MediaRules {
  abilities: VideoAbilities;
  model: string;
  policy: AddressPolicy;
}

/** Frames take precedence over references, as at OpenRouter. */
function readMedia(body: VideoBody, rules: MediaRules) {
  const frames = readFrames(body, rules);
  const references = readReferences(body, rules);
  if (frames.length === 0) return { frames, references, dropped: [] };
  return { frames, references: [], dropped: references.length > 0 ? ['input_references'] : [] };
}

function readFrames(body: VideoBody, { abilities, model, policy }: MediaRules): VideoRequest['frames'] {
  const given = (body.frame_images ?? []).map((image, index) => ({
    type: image.frame_type as FrameType,
    text: urlOf(image.image_url),
    param: `frame_images[${index}]`,
  }));
  const first = inputReference(body);
  if (first !== undefined) given.unshift({ type: 'first_frame', text: first, param: 'input_reference' });
  return given.map(({ type, text, param }, index) => {
    if (given.findIndex((other) => other.type === type) !== index)
      refuse(param, `is a second ${type}; one is allowed.`);
    if (!abilities.frames?.includes(type)) refuseValue({ param, value: type, allowed: abilities.frames, model });
    return { type, input: readInput(text, { param, type: 'image', policy }) };
  });
}

function inputReference({ input_reference: given }: VideoBody): string | undefined {
  if (given === undefined || typeof given === 'string') return given;
  if (given.file_id !== undefined) {
    refuse('input_reference[file_id]', 'is not supported: send the file itself, or its address as image_url.');
  }
  return given.image_url === undefined
    ? refuse('input_reference', 'must be a file, or have image_url.')
    : urlOf(given.image_url);
}

function readReferences(body: VideoBody, { abilities, model, policy }: MediaRules): VideoRequest['references'] {
  const counts: Partial<Record<ReferenceType, number>> = {};
  return (body.input_references ?? []).map((reference, index) => {
    const param = `input_references[${index}]`;
    const [type, link] = typeAndLink(reference);
    const most = abilities.references?.[type] ?? 0;
    counts[type] = (counts[type] ?? 0) + 1;
    if (most === 0) refuseValue({ param, value: reference.type, allowed: referenceTypes(abilities), model });
    if ((counts[type] ?? 0) > most) {
      refuseValue({ param, value: `${type} ${counts[type]}`, allowed: [`up to ${most} of type ${type}`], model });
    }
    return { type, input: readInput(urlOf(link), { param, type, policy }) };
  });
}

function typeAndLink(reference: NonNullable<VideoBody['input_references']>[number]): [ReferenceType, Link] {
  switch (reference.type) {
    case 'image_url':
      return ['image', reference.image_url];
    case 'video_url':
      return ['video', reference.video_url];
    case 'audio_url':
      return ['audio', reference.audio_url];
  }
}

function referenceTypes({ references = {} }: VideoAbilities): string[] {
  return Object.entries(references).flatMap(([type, most]) => (most ? [`${type}_url`] : []));
}

function urlOf(link: Link): string {
  return typeof link === 'string' ? link : link.url;
}

/** A video model has one provider, so `only` and `order` can only exclude it. Passes on the options that the model supports. */
function readProvider({ provider }: VideoBody, model: CatalogModel, { passthrough = [] }: VideoAbilities) {
  const { only, order, allow_fallbacks: others = true } = provider ?? {};
  for (const [param, slugs] of Object.entries({ only, ...(!others && { order }) })) {
    if (!slugs || slugs.includes(model.provider)) continue;
    refuse(`provider.${param}`, `leaves no provider for ${model.id}; it is served by ${model.provider}.`);
  }
  const given: [string, Json][] = Object.entries(provider?.options?.[model.provider] ?? {});
  const passed = given.filter(([name]) => passthrough.includes(name));
  return {
    passed: passed.length > 0 ? Object.fromEntries(passed) : undefined,
    dropped: given
      .filter(([name]) => !passthrough.includes(name))
      .map(([name]) => `provider.options.${model.provider}.${name}`),
  };
}

/** Throws if the prompt or the image that the model requires is missing. */
function requirePromptOrImage(
  { prompt, frames, references }: VideoRequest,
  abilities: VideoAbilities,
  model: string,
): void {
  const hasImage = frames.length > 0 || references.some(({ type }) => type === 'image');
  if (abilities.imageRequired && !hasImage) {
    const param = abilities.frames ? 'frame_images' : 'input_references';
    refuse(param, `is required: ${model} makes videos of images.`);
  }
  if (prompt === undefined && !(abilities.promptOptional && hasImage)) refuse('prompt', 'is required.');
}
