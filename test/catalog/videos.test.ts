/** Video models: bundled and discovered. */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { Type } from 'typebox';
import { bundledModels } from '../../src/catalog/bundled.ts';
import { discoveredVideoModels } from '../../src/catalog/discovered-videos.ts';
import { problems } from '../../src/core/json/check.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { CatalogModel } from '../../src/core/model.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { encodeVideoModels } from '../../src/videos/model-list.ts';

const files = readdirSync(new URL('../../src/catalog/videos/', import.meta.url));
const vendors = files.filter((file) => file.endsWith('.json')).map((file) => file.replace('.json', ''));
const models = vendors.flatMap((vendor) => bundledModels(vendor).filter(({ video }) => video));

function texts(pattern: string) {
  return Type.Optional(Type.Array(Type.String({ pattern }), { minItems: 1, uniqueItems: true }));
}
const flag = Type.Optional(Type.Literal(true));
const count = Type.Optional(Type.Integer({ minimum: 1, maximum: 20 }));
const Abilities = Type.Object(
  {
    durations: Type.Array(Type.Integer({ minimum: 1, maximum: 60 }), { minItems: 1, uniqueItems: true }),
    resolutions: texts('^(\\d{3,4}p|[24]k)$'),
    aspectRatios: texts('^(\\d+:\\d+|adaptive)$'),
    sizes: texts('^\\d+x\\d+$'),
    frames: texts('^(first|last)_frame$'),
    references: Type.Optional(
      Type.Object({ image: count, video: count, audio: count }, { additionalProperties: false }),
    ),
    audio: flag,
    seed: flag,
    negativePrompt: flag,
    promptOptional: flag,
    imageRequired: flag,
    passthrough: texts('^[A-Za-z_]+$'),
    defaults: Type.Object({}),
    prices: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^per-video-(second(-\\d+[pk])?|token)(-audio)?$' }),
        Type.String({ pattern: '^0\\.\\d*[1-9]$' }),
      ),
    ),
  },
  { additionalProperties: false },
);

describe('bundled models', () => {
  for (const model of models) {
    test(model.id, () => {
      assert.deepEqual(problems(Abilities, model.video), []);
      assert.deepEqual(model.outputModalities, ['video']);
      assert.deepEqual(model.supportedParameters, []);
      const { video = {} } = model;
      const takes = [...(video.frames ? ['image'] : []), ...Object.keys(video.references ?? {})];
      assert.deepEqual(new Set(model.inputModalities), new Set(['text', ...takes]));
      const { durations: duration, resolutions: resolution, aspectRatios: aspectRatio, sizes: size } = video;
      const lists: Json = { duration, resolution, aspectRatio, size };
      for (const [name, value] of Object.entries(video.defaults ?? {})) assert.ok(lists[name].includes(value), name);
      for (const name of Object.keys(video.prices ?? {})) {
        const resolution = /\d+[pk]/.exec(name)?.[0];
        if (resolution) assert.ok(video.resolutions?.includes(resolution), name);
      }
    });
  }

  test('belong to types of providers that make videos', () => {
    for (const vendor of vendors) {
      const type = providerTypes.get(vendor);
      assert.ok(type?.create({ id: vendor }).video, vendor);
      assert.equal(type.catalog ?? type.id, vendor);
    }
  });

  test('stand beside those that chat', () => {
    const google = bundledModels('google');
    assert.ok(
      google.some(({ video }) => video) && google.some(({ outputModalities }) => outputModalities[0] === 'text'),
    );
  });
});

describe('listed models', () => {
  /** As OpenRouter lists them. */
  const veo = {
    id: 'google/veo-3.1',
    canonical_slug: 'google/veo-3.1-20251015',
    name: 'Google: Veo 3.1',
    created: 1_760_486_400,
    description: 'A model that makes videos, in words of its own.',
    supported_durations: [4, 6, 8],
    supported_resolutions: ['720p', '1080p'],
    supported_aspect_ratios: ['16:9', '9:16'],
    supported_sizes: ['1280x720'],
    supported_frame_images: ['first_frame', 'last_frame'],
    generate_audio: true,
    seed: null,
    creativity: null,
    upscale_factor: { min: 1, max: 4 },
    allowed_passthrough_parameters: ['personGeneration'],
    pricing_skus: {
      duration_seconds_with_audio: '0.40',
      duration_seconds_without_audio: '0.20',
      duration_seconds_with_audio_4k: '0.60',
      reference_images: '0.04',
    },
  };

  function list(...listed: Json[]): CatalogModel[] {
    return discoveredVideoModels('router', { data: listed }, 'openrouter');
  }

  test('OpenRouter: what a model can do', () => {
    const [model] = list(veo);
    assert.ok(model);
    assert.equal(model.id, 'router/google/veo-3.1');
    assert.equal(model.upstreamId, 'google/veo-3.1');
    assert.equal(model.canonicalSlug, 'router/google/veo-3.1-20251015');
    assert.deepEqual([model.inputModalities, model.outputModalities], [['text', 'image'], ['video']]);
    assert.deepEqual(model.video, {
      durations: [4, 6, 8],
      resolutions: ['720p', '1080p'],
      aspectRatios: ['16:9', '9:16'],
      sizes: ['1280x720'],
      frames: ['first_frame', 'last_frame'],
      references: { image: 16, video: 16, audio: 16 },
      audio: true,
      passthrough: ['provider', 'previous_job_id', 'upscale_factor'],
      prices: { 'per-video-second-audio': '0.4', 'per-video-second': '0.2', 'per-video-second-4k-audio': '0.6' },
    });
  });

  const prices: [skus: Json, expected: Json][] = [
    [
      { 'per-video-second': '0.50', 'per-video-second-1080p': '0.75' },
      { 'per-video-second': '0.5', 'per-video-second-1080p': '0.75' },
    ],
    [
      { duration_seconds_480p: '0.05', duration_seconds: '0.1' },
      { 'per-video-second-480p': '0.05', 'per-video-second': '0.1' },
    ],
    [
      { text_to_video_duration_seconds_720p: '0.04', image_to_video_duration_seconds_720p: '0.1' },
      { 'per-video-second-720p': '0.04' },
    ],
    [{ cents_per_video_output_second_480p: '5', cents_per_image_input: '1' }, { 'per-video-second-480p': '0.05' }],
    [
      { cents_per_second_output: '12', cents_per_second_output_1080p: '150' },
      { 'per-video-second': '0.12', 'per-video-second-1080p': '1.5' },
    ],
    [
      { cents_per_video_output_second_720p_with_audio: '10', cents_per_video_output_second_720p_without_audio: '5' },
      { 'per-video-second-720p-audio': '0.1', 'per-video-second-720p': '0.05' },
    ],
    [
      { video_tokens: '0.0000024', video_tokens_without_audio: '0.0000012' },
      { 'per-video-token-audio': '0.0000024', 'per-video-token': '0.0000012' },
    ],
    [{ video_tokens: '0.0000035' }, { 'per-video-token-audio': '0.0000035', 'per-video-token': '0.0000035' }],
    [{ generate: '1', constructor: '1', duration_seconds: -1 }, undefined],
    [null, undefined],
    ['0.5', undefined],
  ];
  for (const [skus, expected] of prices) {
    test(`prices: ${JSON.stringify(skus)}`, () => {
      assert.deepEqual(list({ id: 'm', pricing_skus: skus })[0]?.video?.prices, expected);
    });
  }

  test('what is null or of another kind is not there', () => {
    const [model] = list({
      id: 'm',
      supported_durations: 'all',
      supported_resolutions: null,
      supported_frame_images: ['middle_frame', 7],
      generate_audio: null,
      seed: 1,
    });
    const { references, passthrough, ...others } = model?.video ?? {};
    assert.deepEqual(others, {});
    assert.deepEqual(model?.inputModalities, ['text']);
  });

  test('no list, no models', () => {
    for (const body of [undefined, null, 'ok', {}, { data: 'all' }, { data: [null, 7, {}, { id: '' }] }]) {
      assert.deepEqual(discoveredVideoModels('router', body), []);
    }
  });

  test('Polygate: what one instance lists, another understands', () => {
    for (const model of models) {
      const [found] = discoveredVideoModels('inner', encodeVideoModels([model]), 'polygate');
      const { defaults, passthrough, promptOptional, imageRequired, ...known } = model.video ?? {};
      const { passthrough: own, count: one, ...listed } = found?.video ?? {};
      assert.equal(found?.upstreamId, model.id);
      assert.deepEqual(listed, { references: {}, ...known });
    }
  });
});
