/** Requests of each video adapter, to the byte of their JSON. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../../src/core/errors.ts';
import type { Json } from '../../../src/core/json/json.ts';
import type { VideoApi, VideoRequest } from '../../../src/core/video.ts';
import { falQueue } from '../../../src/providers/videos/fal-queue.ts';
import { grokImagine } from '../../../src/providers/videos/grok-imagine.ts';
import { openaiVideos, polygateVideos } from '../../../src/providers/videos/openai-videos.ts';
import { openrouterVideos } from '../../../src/providers/videos/openrouter-videos.ts';
import { seedance } from '../../../src/providers/videos/seedance.ts';
import { veo } from '../../../src/providers/videos/veo.ts';
import { ask, context, DATA_URI, everything, image, imageUrl } from './calls.ts';

const twoFrames = ask({
  frames: [
    { type: 'first_frame', input: imageUrl },
    { type: 'last_frame', input: image },
  ],
});
const references = ask({
  references: [
    { type: 'image', input: image },
    { type: 'video', input: { url: 'https://example.com/dance.mp4' } },
    { type: 'audio', input: { url: 'https://example.com/song.mp3' } },
  ],
});
const firstFrame = ask({ prompt: undefined, frames: [{ type: 'first_frame', input: imageUrl }] });
const uploaded = ask({ duration: 4, count: 2, frames: [{ type: 'first_frame', input: image }] });

const base = { model: 'some/model', prompt: 'a red kite' };
const openRouterFrames = [
  { type: 'image_url', image_url: { url: 'https://example.com/first.png' }, frame_type: 'first_frame' },
  { type: 'image_url', image_url: { url: DATA_URI }, frame_type: 'last_frame' },
];
const openRouterReferences = [
  { type: 'image_url', image_url: { url: DATA_URI } },
  { type: 'video_url', video_url: { url: 'https://example.com/dance.mp4' } },
  { type: 'audio_url', audio_url: { url: 'https://example.com/song.mp3' } },
];

const cases: [name: string, api: VideoApi, request: VideoRequest, path: string, body: Json][] = [
  ['OpenAI: a prompt', openaiVideos, ask(), '/videos', base],
  [
    'OpenAI: everything, and options never replace what was asked',
    openaiVideos,
    everything,
    '/videos',
    {
      ...base,
      style: 'film',
      seconds: '8',
      size: '1920x1080',
      resolution: '1080P',
      aspect_ratio: '16:9',
      generate_audio: false,
      seed: 0,
      negative_prompt: 'rain',
      n: 2,
    },
  ],
  [
    'OpenAI: a first frame by URL',
    openaiVideos,
    firstFrame,
    '/videos',
    { model: 'some/model', input_reference: { image_url: 'https://example.com/first.png' } },
  ],
  ['OpenAI: two frames', openaiVideos, twoFrames, '/videos', { ...base, frame_images: openRouterFrames }],
  ['OpenAI: references', openaiVideos, references, '/videos', { ...base, input_references: openRouterReferences }],
  ['OpenRouter: a prompt', openrouterVideos, ask(), '/videos', base],
  [
    'OpenRouter: everything',
    openrouterVideos,
    everything,
    '/videos',
    {
      ...base,
      style: 'film',
      duration: 8,
      resolution: '1080P',
      aspect_ratio: '16:9',
      size: '1920x1080',
      generate_audio: false,
      seed: 0,
      negative_prompt: 'rain',
      n: 2,
    },
  ],
  ['OpenRouter: two frames', openrouterVideos, twoFrames, '/videos', { ...base, frame_images: openRouterFrames }],
  [
    'OpenRouter: references',
    openrouterVideos,
    references,
    '/videos',
    { ...base, input_references: openRouterReferences },
  ],
  [
    'Veo: a prompt',
    veo,
    ask({ model: 'veo-3.1-generate-preview' }),
    '/v1beta/models/veo-3.1-generate-preview:predictLongRunning',
    { instances: [{ prompt: 'a red kite' }], parameters: {} },
  ],
  [
    'Veo: everything',
    veo,
    { ...everything, model: 'veo', options: { personGeneration: 'allow_adult' } },
    '/v1beta/models/veo:predictLongRunning',
    {
      instances: [{ prompt: 'a red kite' }],
      parameters: {
        personGeneration: 'allow_adult',
        sampleCount: 2,
        aspectRatio: '16:9',
        resolution: '1080p',
        durationSeconds: 8,
        seed: 0,
        negativePrompt: 'rain',
      },
    },
  ],
  [
    'Veo: frames as base64',
    veo,
    ask({
      model: '../v1/odd model',
      frames: [
        { type: 'first_frame', input: image },
        { type: 'last_frame', input: image },
      ],
    }),
    '/v1beta/models/..%2Fv1%2Fodd%20model:predictLongRunning',
    {
      instances: [
        {
          prompt: 'a red kite',
          image: { bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' },
          lastFrame: { bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' },
        },
      ],
      parameters: {},
    },
  ],
  [
    'Veo: references',
    veo,
    ask({ model: 'veo', references: [{ type: 'image', input: image }] }),
    '/v1beta/models/veo:predictLongRunning',
    {
      instances: [
        {
          prompt: 'a red kite',
          referenceImages: [
            { image: { bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' }, referenceType: 'asset' },
          ],
        },
      ],
      parameters: {},
    },
  ],
  [
    'xAI: everything it has',
    grokImagine,
    everything,
    '/videos/generations',
    { ...base, style: 'film', duration: 8, aspect_ratio: '16:9', resolution: '1080P' },
  ],
  [
    'xAI: a first frame',
    grokImagine,
    firstFrame,
    '/videos/generations',
    { model: 'some/model', image: { url: 'https://example.com/first.png' } },
  ],
  [
    'xAI: reference images',
    grokImagine,
    ask({ references: [{ type: 'image', input: image }] }),
    '/videos/generations',
    { ...base, reference_images: [{ url: DATA_URI }] },
  ],
  [
    'xAI: editing a video',
    grokImagine,
    ask({ references: [{ type: 'video', input: { url: 'https://example.com/dance.mp4' } }] }),
    '/videos/edits',
    { ...base, video: { url: 'https://example.com/dance.mp4' } },
  ],
  [
    'Ark: everything',
    seedance,
    { ...everything, options: { watermark: false, service_tier: 'flex' } },
    '/contents/generations/tasks',
    {
      watermark: false,
      service_tier: 'flex',
      model: 'some/model',
      content: [{ type: 'text', text: 'a red kite' }],
      ratio: '16:9',
      resolution: '1080p',
      duration: 8,
      seed: 0,
      generate_audio: false,
    },
  ],
  [
    'Ark: frames with roles',
    seedance,
    twoFrames,
    '/contents/generations/tasks',
    {
      model: 'some/model',
      content: [
        { type: 'text', text: 'a red kite' },
        { type: 'image_url', image_url: { url: 'https://example.com/first.png' }, role: 'first_frame' },
        { type: 'image_url', image_url: { url: DATA_URI }, role: 'last_frame' },
      ],
    },
  ],
  [
    'Ark: references with roles',
    seedance,
    references,
    '/contents/generations/tasks',
    {
      model: 'some/model',
      content: [
        { type: 'text', text: 'a red kite' },
        { type: 'image_url', image_url: { url: DATA_URI }, role: 'reference_image' },
        { type: 'video_url', video_url: { url: 'https://example.com/dance.mp4' }, role: 'reference_video' },
        { type: 'audio_url', audio_url: { url: 'https://example.com/song.mp3' }, role: 'reference_audio' },
      ],
    },
  ],
  [
    'fal: everything',
    falQueue,
    { ...everything, model: 'fal-ai/veo3.1/fast', options: { safety_tolerance: '4' } },
    '/fal-ai/veo3.1/fast',
    {
      prompt: 'a red kite',
      duration: '8s',
      resolution: '1080p',
      aspect_ratio: '16:9',
      generate_audio: false,
      seed: 0,
      negative_prompt: 'rain',
      safety_tolerance: '4',
    },
  ],
  ...(
    [
      ['bytedance/seedance-2.0/image-to-video', '5', 'image_url', 'end_image_url'],
      ['fal-ai/kling-video/v3/pro/image-to-video', '5', 'start_image_url', 'end_image_url'],
      ['fal-ai/kling-video/v2.5-turbo/pro/image-to-video', '5', 'image_url', 'tail_image_url'],
      ['fal-ai/veo3.1/first-last-frame-to-video', '5s', 'first_frame_url', 'last_frame_url'],
      ['fal-ai/luma-dream-machine/ray-2', '5s', 'image_url', 'end_image_url'],
      ['fal-ai/sora-2/image-to-video', 5, 'image_url', 'end_image_url'],
    ] as const
  ).map(([model, duration, first, last]): (typeof cases)[number] => [
    `fal: the words of ${model}`,
    falQueue,
    { ...twoFrames, model, duration: 5 },
    `/${model}`,
    { prompt: 'a red kite', duration, [first]: 'https://example.com/first.png', [last]: DATA_URI },
  ]),
  [
    'fal: references',
    falQueue,
    { ...references, model: 'fal-ai/some' },
    '/fal-ai/some',
    {
      prompt: 'a red kite',
      image_urls: [DATA_URI],
      video_urls: ['https://example.com/dance.mp4'],
      audio_urls: ['https://example.com/song.mp3'],
    },
  ],
];

describe('submissions', () => {
  for (const [name, api, request, path, body] of cases) {
    test(name, () => {
      const call = api.submit(request, context);
      assert.equal(call.method, 'POST');
      assert.equal(call.path, path);
      assert.deepEqual(JSON.parse(JSON.stringify(call.body)), body);
    });
  }

  test('OpenAI: an inline first frame is uploaded in a form', async () => {
    const { body } = openaiVideos.submit(uploaded, context);
    assert.ok(body instanceof FormData);
    const fields = [...body].filter(([, value]) => typeof value === 'string');
    assert.deepEqual(Object.fromEntries(fields), { model: 'some/model', prompt: 'a red kite', seconds: '4', n: '2' });
    const file = body.get('input_reference');
    assert.ok(file instanceof File);
    assert.equal(file.type, 'image/png');
    assert.equal(file.name, 'first-frame.png');
    assert.equal(Buffer.from(await file.arrayBuffer()).toString('base64'), image.data);
  });

  test('OpenAI: the attempt is the idempotency key', () => {
    assert.deepEqual(openaiVideos.submit(ask(), context).headers, { 'idempotency-key': context.attemptId });
  });
});

describe('what cannot be asked for together', () => {
  const refused: [VideoApi, VideoRequest, string][] = [
    [veo, ask({ duration: 4, references: [{ type: 'image', input: image }] }), 'duration'],
    [veo, { ...twoFrames, duration: 6 }, 'duration'],
    [seedance, { ...twoFrames, references: references.references }, 'input_references'],
    [grokImagine, { ...references, duration: 5 }, 'duration'],
    [grokImagine, { ...references, resolution: '720p' }, 'resolution'],
    [grokImagine, references, 'input_references'],
  ];
  for (const [api, request, param] of refused) {
    test(`${param}: ${JSON.stringify(request).slice(0, 80)}`, () => {
      assert.throws(
        () => api.checkRequest?.(request),
        (error) => error instanceof GatewayError && error.code === 'invalid_request' && error.param === param,
      );
    });
  }

  test('what can is not refused', () => {
    for (const api of [veo, seedance, grokImagine]) {
      for (const request of [ask(), everything, firstFrame, twoFrames]) api.checkRequest?.(request);
    }
    veo.checkRequest?.(ask({ duration: 4, frames: [{ type: 'first_frame', input: image }] }));
    grokImagine.checkRequest?.(ask({ references: [{ type: 'video', input: imageUrl }] }));
  });
});

describe('asking for a task again', () => {
  const odd = { id: 'a/b?c=../d#e' };
  const encoded = 'a%2Fb%3Fc%3D..%2Fd%23e';
  const calls: [name: string, call: { method: string; path: string } | undefined, expected: string][] = [
    ['OpenAI', openaiVideos.poll(odd), `GET /videos/${encoded}`],
    ['Polygate cancels', polygateVideos.cancel?.(odd), `POST /videos/${encoded}/cancel`],
    ['OpenRouter', openrouterVideos.poll(odd), `GET /videos/${encoded}`],
    ['Veo', veo.poll({ id: 'models/veo/operations/x y' }), 'GET /v1beta/models/veo/operations/x%20y'],
    ['xAI', grokImagine.poll(odd), `GET /videos/${encoded}`],
    ['Ark', seedance.poll(odd), `GET /contents/generations/tasks/${encoded}`],
    ['Ark looks before it cancels', seedance.cancel?.(odd), `GET /contents/generations/tasks/${encoded}`],
    ['fal', falQueue.poll({ app: 'fal-ai/veo3.1', id: 'r/1' }), 'GET /fal-ai/veo3.1/requests/r%2F1/status'],
    ['fal cancels', falQueue.cancel?.({ app: 'fal-ai/veo3.1', id: 'r1' }), 'PUT /fal-ai/veo3.1/requests/r1/cancel'],
  ];
  for (const [name, call, expected] of calls) {
    test(name, () => assert.equal(`${call?.method} ${call?.path}`, expected));
  }

  test('nothing is cancelled where there is no way', () => {
    for (const api of [openaiVideos, openrouterVideos, veo, grokImagine]) assert.equal(api.cancel, undefined);
  });
});
