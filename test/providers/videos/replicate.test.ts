/** Replicate: what is sent to which model, what is read, and how a lost prediction is found. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../../src/core/json/json.ts';
import { replicate } from '../../../src/providers/videos/replicate.ts';
import { ask, context, DATA_URI, everything, image, imageUrl, response } from './calls.ts';
import { cancelled, refused, testAdapter } from './table.ts';

const prompt = 'a red kite';
const frames = [{ type: 'first_frame', input: imageUrl } as const, { type: 'last_frame', input: image } as const];
const framed = (model: string, first: string, last: string): [string, ReturnType<typeof ask>, string, Json] => [
  `frames, to ${model}`,
  ask({ model, frames }),
  `/models/${model}/predictions`,
  { input: { prompt, [first]: imageUrl.url, [last]: DATA_URI } },
];

testAdapter({
  api: replicate,
  ref: { id: 'a/b' },
  requests: [
    ['a prompt', ask(), '/models/some/model/predictions', { input: { prompt } }],
    ['a version', ask({ model: 'some/model:5c7d' }), '/predictions', { version: '5c7d', input: { prompt } }],
    [
      'everything',
      everything,
      '/models/some/model/predictions',
      {
        input: {
          prompt,
          style: 'film',
          model: 'other',
          duration: 8,
          resolution: '1080P',
          aspect_ratio: '16:9',
          size: '1920*1080',
          generate_audio: false,
          seed: 0,
          negative_prompt: 'rain',
        },
      },
    ],
    framed('some/model', 'image', 'last_frame_image'),
    framed('google/veo-3.1', 'image', 'last_frame'),
    framed('kwaivgi/kling-v2.6', 'start_image', 'end_image'),
    framed('minimax/hailuo-02', 'first_frame_image', 'last_frame_image'),
    framed('luma/ray-2-720p', 'start_image', 'end_image'),
    [
      'a length and a frame, to openai/sora-2',
      ask({ model: 'openai/sora-2', duration: 4, frames: frames.slice(0, 1) }),
      '/models/openai/sora-2/predictions',
      { input: { prompt, seconds: 4, input_reference: imageUrl.url } },
    ],
    [
      'references',
      ask({ model: 'google/veo-3.1', references: [{ type: 'image', input: image }] }),
      '/models/google/veo-3.1/predictions',
      { input: { prompt, reference_images: [DATA_URI] } },
    ],
  ],
  submissions: [
    [
      { id: 'p1', status: 'starting', urls: { get: 'https://evil.example/' } },
      201,
      { type: 'accepted', ref: { id: 'p1' } },
    ],
    [{ title: 'Input validation failed', detail: 'duration: bad' }, 422, refused('invalid_input', 'duration: bad')],
    [{ detail: 'Insufficient credit' }, 402, refused('upstream_rejected', 'Insufficient credit', true)],
    [{ detail: 'throttled' }, 429, refused('upstream_rejected', 'throttled', true)],
  ],
  pollPath: '/predictions/a%2Fb',
  polls: [
    [{ status: 'starting' }, { type: 'queued' }],
    [{ status: 'processing' }, { type: 'running' }],
    [
      { status: 'succeeded', output: 'https://delivery/1.mp4' },
      { type: 'completed', assets: [{ url: 'https://delivery/1.mp4' }] },
    ],
    [
      { status: 'succeeded', output: ['https://delivery/1.mp4', 'https://delivery/2.mp4', 'x'] },
      { type: 'completed', assets: [{ url: 'https://delivery/1.mp4' }, { url: 'https://delivery/2.mp4' }] },
    ],
    [
      { status: 'succeeded', output: null },
      { type: 'completed', assets: [] },
    ],
    [
      { status: 'failed', error: 'flagged as sensitive (E005)' },
      { type: 'failed', error: { code: 'content_policy_violation', message: 'flagged as sensitive (E005)' } },
    ],
    [
      { status: 'failed', error: 'out of memory' },
      { type: 'failed', error: { code: 'upstream_error', message: 'out of memory' } },
    ],
    [{ status: 'canceled' }, { type: 'cancelled' }],
    [{ status: 'aborted' }, { type: 'expired' }],
    [{ status: 'resting' }, { type: 'unknown', status: 'resting' }],
  ],
});

test('cancelling needs no look, because it harms nothing that is over', () =>
  assert.deepEqual(cancelled(replicate, { id: 'p/1' }, {}), [
    ['POST /predictions/p%2F1/cancel'],
    { type: 'accepted' },
  ]));

describe('finding', () => {
  const request = ask({ model: 'google/veo-3.1', duration: 8 });
  const sentAt = Date.parse('2026-11-21T06:00:00Z') / 1000;
  const prediction = (fields: object = {}): Json => ({
    id: 'p1',
    model: 'google/veo-3.1',
    version: 'hidden',
    input: { duration: 8, prompt },
    created_at: '2026-11-21T06:00:01.5Z',
    ...fields,
  });
  const find = (results: Json, next: Json = null, asked = request) =>
    replicate.find?.({ ...context, request: asked, sentAt, otherRefs: [] }).read(response({ results, next }));

  test('knows the prediction with our input', () =>
    assert.deepEqual(find([prediction({ id: 'p0', model: 'other/model' }), prediction()]), {
      type: 'found',
      ref: { id: 'p1' },
    }));
  test('knows the prediction of our version', () => {
    const asked = ask({ model: 'some/model:5c7d' });
    const own = prediction({ version: '5c7d', input: { prompt } });
    assert.deepEqual(find([prediction(), own], null, asked), { type: 'found', ref: { id: 'p1' } });
  });
  test('knows that there is none', () => {
    assert.deepEqual(find([prediction({ input: { prompt: 'other' } })]), { type: 'none' });
    assert.deepEqual(find([prediction({ created_at: '2026-11-21T05:00:00Z' })], 'more'), { type: 'none' });
  });
  test('cannot tell one of several, a changed one, or beyond a page', () => {
    assert.deepEqual(find([prediction(), prediction()]), { type: 'unclear' });
    assert.deepEqual(find([prediction({ input: { prompt, duration: 8, seed: 1 } })]), { type: 'unclear' });
    assert.deepEqual(find([prediction({ input: undefined })]), { type: 'unclear' });
    assert.deepEqual(find([], 'more'), { type: 'unclear' });
    for (const list of [undefined, {}]) assert.deepEqual(find(list), { type: 'unclear' });
  });
});
