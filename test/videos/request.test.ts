/** Creation requests: conversion to the model's parameters, and refusals. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { catalogModel } from '../../src/catalog/entry.ts';
import { GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { VideoAbilities } from '../../src/core/video.ts';
import { PUBLIC_ONLY } from '../../src/net/address-policy.ts';
import { type Creation, detailsOf, requestDigest } from '../../src/videos/creation.ts';
import { checkShape, readCreation } from '../../src/videos/request.ts';

const PNG = `data:image/png;base64,${Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1').toString('base64')}`;

const ABILITIES: VideoAbilities = {
  durations: [4, 8],
  resolutions: ['720p', '1080p'],
  aspectRatios: ['16:9', '9:16'],
  frames: ['first_frame', 'last_frame'],
  references: { image: 2 },
  audio: true,
  seed: true,
  negativePrompt: true,
  count: 2,
  passthrough: ['style'],
  defaults: { duration: 4, resolution: '720p', aspectRatio: '16:9' },
};

function create(body: Json, abilities: VideoAbilities | undefined = ABILITIES): Creation {
  const model = catalogModel('maker', { id: 'film', video: abilities });
  return readCreation(checkShape({ model: 'maker/film', prompt: 'a cat', ...body }), model, PUBLIC_ONLY);
}

function refusal(body: Json, abilities?: VideoAbilities): Pick<GatewayError, 'code' | 'param' | 'message'> {
  try {
    create(body, abilities);
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return { code: error.code, param: error.param, message: error.message };
  }
  return assert.fail('it was accepted');
}

describe('a request is converted to the parameters of the model', () => {
  const CASES: [string, Json, Json, VideoAbilities?][] = [
    ['what is not asked is left to it', {}, { duration: undefined, resolution: undefined, size: undefined, count: 1 }],
    ['seconds as text', { seconds: '8' }, { duration: 8 }],
    ['seconds as a number, beside an equal duration', { seconds: 8, duration: 8 }, { duration: 8 }],
    ['size becomes resolution and ratio', { size: '1080x1920' }, { resolution: '1080p', aspectRatio: '9:16' }],
    [
      'one of the two leaves the other at its default',
      { aspect_ratio: '9:16' },
      { resolution: undefined, aspectRatio: '9:16' },
    ],
    ['resolution in any case', { resolution: '1080P' }, { resolution: '1080p' }],
    [
      'size beside what it means',
      { size: '1280x720', resolution: '720p', aspect_ratio: '16:9' },
      { resolution: '720p' },
    ],
    [
      'resolution and ratio become a size',
      { resolution: '720p', aspect_ratio: '9:16' },
      { size: '720x1280', resolution: undefined },
      { sizes: ['1280x720', '720x1280'], durations: [4] },
    ],
    [
      'a ratio alone finds its size',
      { aspect_ratio: '9:16' },
      { size: '720x1280' },
      { sizes: ['1280x720', '720x1280'] },
    ],
    [
      'knobs',
      { seed: 7, generate_audio: false, negative_prompt: 'dogs', n: 2 },
      { seed: 7, audio: false, negativePrompt: 'dogs', count: 2 },
    ],
    ['null is nothing', { seed: null, size: null, callback_url: null }, { seed: undefined }],
    ['null is nothing, whatever its name', { unknown: null, provider: { unknown: null } }, { seed: undefined }],
    ['unknown fields are no matter', { trace: { id: 1 }, session_id: 'x', fps: 24 }, { prompt: 'a cat' }],
    [
      'input_reference is the first frame',
      { input_reference: { image_url: PNG } },
      { frames: [{ type: 'first_frame', input: { data: PNG.slice(22), mime: 'image/png' } }] },
    ],
    [
      'references by URL',
      { input_references: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png#top' } }] },
      { references: [{ type: 'image', input: { url: 'https://example.com/a.png' } }] },
    ],
    [
      'options of its own provider, as far as the model knows them',
      {
        provider: {
          only: ['maker'],
          order: ['other', 'maker'],
          allow_fallbacks: false,
          options: { maker: { style: 'noir', x: 1 }, other: { y: 1 } },
        },
      },
      { options: { style: 'noir' } },
    ],
    [
      'an image alone, where that is enough',
      { prompt: '', input_reference: PNG },
      { prompt: undefined },
      { ...ABILITIES, promptOptional: true },
    ],
  ];
  for (const [name, body, expected, abilities] of CASES) {
    test(name, () => {
      const request = create(body, abilities).request as Json;
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, request[key]])), expected);
    });
  }
});

describe('an unsupported value is refused with the parameter and the supported values', () => {
  const frame = (type: string) => ({ type: 'image_url', image_url: { url: PNG }, frame_type: type });
  const image = { type: 'image_url', image_url: { url: PNG } };
  const CASES: [Json, string, string, RegExp, VideoAbilities?][] = [
    [
      { duration: 5 },
      'unsupported_parameter_value',
      'duration',
      /duration 5 is not supported by maker\/film; allowed: 4, 8\./,
    ],
    [{ seconds: '5' }, 'unsupported_parameter_value', 'seconds', /allowed: 4, 8/],
    [{ duration: 4, seconds: '8' }, 'invalid_request', 'seconds', /contradicts duration 4/],
    [{ duration: '8' }, 'invalid_request', 'duration', /must be an integer/],
    [{ seconds: 'long' }, 'invalid_request', 'seconds', /whole seconds/],
    [{ resolution: '4K' }, 'unsupported_parameter_value', 'resolution', /allowed: 720p, 1080p/],
    [{ aspect_ratio: '1:1' }, 'unsupported_parameter_value', 'aspect_ratio', /allowed: 16:9, 9:16/],
    [{ size: '640x480' }, 'unsupported_parameter_value', 'size', /allowed: 1280x720, 720x1280, 1920x1080, 1080x1920/],
    [{ size: '1280x720', resolution: '1080p' }, 'invalid_request', 'size', /contradicts resolution 1080p/],
    [{ size: '1280x720', aspect_ratio: '9:16' }, 'invalid_request', 'size', /contradicts aspect_ratio 9:16/],
    [{ size: 'large' }, 'invalid_request', 'size', /<width>x<height>/],
    [{ size: '640x480' }, 'unsupported_parameter_value', 'size', /allowed: 1280x720/, { sizes: ['1280x720'] }],
    [
      { resolution: '1080p' },
      'unsupported_parameter_value',
      'resolution',
      /allowed: 1280x720/,
      { sizes: ['1280x720'] },
    ],
    [{ size: '1280x720' }, 'unsupported_parameter_value', 'size', /leave it out/, {}],
    [{ seed: 1 }, 'unsupported_parameter_value', 'seed', /leave it out/, {}],
    [{ generate_audio: true }, 'unsupported_parameter_value', 'generate_audio', /leave it out/, {}],
    [{ negative_prompt: 'x' }, 'unsupported_parameter_value', 'negative_prompt', /leave it out/, {}],
    [{ duration: 4 }, 'unsupported_parameter_value', 'duration', /leave it out/, {}],
    [{ n: 3 }, 'unsupported_parameter_value', 'n', /allowed: 1 to 2/],
    [{ n: 2 }, 'unsupported_parameter_value', 'n', /allowed: 1\./, {}],
    [{ n: 0 }, 'invalid_request', 'n', /at least 1/],
    [
      { frame_images: [frame('last_frame')] },
      'unsupported_parameter_value',
      'frame_images[0]',
      /allowed: first_frame/,
      { frames: ['first_frame'] },
    ],
    [
      { frame_images: [frame('first_frame')], input_reference: PNG },
      'invalid_request',
      'frame_images[0]',
      /second first_frame/,
    ],
    [{ frame_images: [frame('middle_frame')] }, 'invalid_request', 'frame_images[0].frame_type', /first_frame/],
    [{ input_reference: { file_id: 'file-1' } }, 'invalid_request', 'input_reference[file_id]', /send the file itself/],
    [
      { input_references: [image, image, image] },
      'unsupported_parameter_value',
      'input_references[2]',
      /up to 2 of type image/,
    ],
    [
      { input_references: [{ type: 'audio_url', audio_url: { url: 'https://example.com/a.mp3' } }] },
      'unsupported_parameter_value',
      'input_references[0]',
      /allowed: image_url/,
    ],
    [{ input_reference: 'http://example.com/a.png' }, 'invalid_request', 'input_reference', /https/],
    [{ input_reference: 'https://169.254.169.254/a.png' }, 'invalid_request', 'input_reference', /public internet/],
    [
      { input_reference: 'data:text/plain;base64,aGk=' },
      'invalid_request',
      'input_reference',
      /must hold an image, not text\/plain/,
    ],
    [{ input_reference: 'data:image/png,abc' }, 'invalid_request', 'input_reference', /base64/],
    [{ input_reference: 'data:image/png;base64,a*b=' }, 'invalid_request', 'input_reference', /base64/],
    [{ prompt: '  ' }, 'invalid_request', 'prompt', /required/],
    [{ prompt: '', input_reference: PNG }, 'invalid_request', 'prompt', /required/],
    [{ prompt: 'x'.repeat(32_001) }, 'invalid_request', 'prompt', /at most 32000 characters/],
    [{}, 'invalid_request', 'frame_images', /required/, { imageRequired: true, frames: ['first_frame'] }],
    [{ provider: { sort: 'price' } }, 'invalid_request', 'provider.sort', /provider\.sort is not a known field/],
    [{ provider: { only: ['other'] } }, 'invalid_request', 'provider.only', /served by maker/],
    [
      { provider: { order: ['other'], allow_fallbacks: false } },
      'invalid_request',
      'provider.order',
      /served by maker/,
    ],
    [{ execution_expires_after: 59 }, 'invalid_request', 'execution_expires_after', /between 60 and 172800/],
    [{ execution_expires_after: 172_801 }, 'invalid_request', 'execution_expires_after', /between 60 and 172800/],
    [{ metadata: { a: 1 } }, 'invalid_request', 'metadata.a', /string/],
    [{ metadata: { ['k'.repeat(65)]: 'v' } }, 'invalid_request', 'metadata', /names of at most 64 characters/],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v'])) },
      'invalid_request',
      'metadata',
      /at most 16/,
    ],
  ];
  for (const [body, code, param, message, abilities] of CASES) {
    test(`${param}: ${JSON.stringify(body).slice(0, 70)}`, () => {
      const found = refusal(body, abilities);
      assert.deepEqual({ code: found.code, param: found.param }, { code, param });
      assert.match(found.message, message);
    });
  }

  test('image: more than 20 MiB', () => {
    const large = `data:image/png;base64,${'A'.repeat(28_000_000)}`;
    assert.equal(refusal({ input_reference: large }).code, 'payload_too_large');
  });

  test('model: one without video output', () => {
    const model = catalogModel('maker', { id: 'chat' });
    assert.throws(() => readCreation(checkShape({ model: 'maker/chat', prompt: 'x' }), model, PUBLIC_ONLY), {
      code: 'model_not_video',
      param: 'model',
    });
  });
});

test('frames take precedence over references, and dropped parameters are named', () => {
  const { request, dropped } = create({
    input_reference: PNG,
    input_references: [{ type: 'image_url', image_url: PNG }],
    provider: { options: { maker: { unknown: 1 } } },
  });
  assert.equal(request.frames.length, 1);
  assert.deepEqual(request.references, []);
  assert.deepEqual(dropped, ['input_references', 'provider.options.maker.unknown']);
});

test('a routing policy that allows the provider is accepted', () => {
  for (const provider of [
    { order: ['other'] },
    { order: ['other'], allow_fallbacks: true },
    { order: ['maker'], allow_fallbacks: false },
    { only: ['maker'], allow_fallbacks: false },
  ]) {
    assert.equal(create({ provider }).request.prompt !== undefined, true);
  }
});

test('the digest distinguishes requests by meaning', async () => {
  const digest = (body: Json) => requestDigest(create(body));
  assert.equal(
    await digest({ seconds: '8', metadata: { a: '1', b: '2' } }),
    await digest({ metadata: { b: '2', a: '1' }, duration: 8 }),
  );
  assert.equal(await digest({ size: '1280x720' }), await digest({ resolution: '720p', aspect_ratio: '16:9' }));
  for (const other of [
    { prompt: 'a dog' },
    { seed: 1 },
    { callback_url: 'https://example.com' },
    { metadata: { a: '1' } },
  ]) {
    assert.notEqual(await digest(other), await digest({}), JSON.stringify(other));
  }
});

describe('a task shows the resulting parameters', () => {
  const CASES: [Json, Json, VideoAbilities?][] = [
    [{}, { duration: 4, resolution: '720p', aspectRatio: '16:9', size: '1280x720', count: 1 }],
    [
      { seconds: '8', resolution: '1080p', seed: 3 },
      { duration: 8, seed: 3, size: '1920x1080', aspectRatio: '16:9' },
    ],
    [{ size: '720x1280' }, { size: '720x1280', resolution: '720p', aspectRatio: '9:16' }],
    [{ size: '1280x720' }, { size: '1280x720', resolution: '720p', aspectRatio: undefined }, { sizes: ['1280x720'] }],
    [{}, { size: '1024x1792', resolution: undefined }, { sizes: ['1024x1792'], defaults: { size: '1024x1792' } }],
    [{ metadata: { a: 'b' }, user: 'me' }, { metadata: { a: 'b' }, user: 'me', duration: undefined }, {}],
  ];
  for (const [body, expected, abilities] of CASES) {
    test(JSON.stringify(body), () => {
      const details = detailsOf(create(body, abilities)) as Json;
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, details[key]])), expected);
    });
  }
});
