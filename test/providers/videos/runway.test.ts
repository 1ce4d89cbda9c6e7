/** Runway: what is sent, and what is read. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runway } from '../../../src/providers/videos/runway.ts';
import { ask, DATA_URI, everything, image, imageUrl } from './calls.ts';
import { cancelled, refused, testAdapter } from './table.ts';

const ref = { id: 'a/b' };
const base = { model: 'some/model', promptText: 'a red kite' };
const [first, last] = [
  { type: 'first_frame', input: imageUrl } as const,
  { type: 'last_frame', input: image } as const,
];
const shared = ask({ frames: [first], references: [{ type: 'image', input: image }] });

testAdapter({
  api: runway,
  ref,
  requests: [
    ['a prompt', ask(), '/v1/text_to_video', base],
    [
      'everything',
      everything,
      '/v1/text_to_video',
      {
        ...base,
        style: 'film',
        ratio: '1920:1080',
        resolution: '1080P',
        duration: 8,
        audio: false,
        seed: 0,
        negativePrompt: 'rain',
      },
    ],
    ['a shape', ask({ aspectRatio: '9:16' }), '/v1/text_to_video', { ...base, ratio: '9:16' }],
    ['a first frame', ask({ frames: [first] }), '/v1/image_to_video', { ...base, promptImage: imageUrl.url }],
    [
      'two frames',
      ask({ frames: [last, first] }),
      '/v1/image_to_video',
      {
        ...base,
        promptImage: [
          { uri: imageUrl.url, position: 'first' },
          { uri: DATA_URI, position: 'last' },
        ],
      },
    ],
    [
      'a last frame',
      ask({ frames: [last] }),
      '/v1/image_to_video',
      { ...base, promptImage: [{ uri: DATA_URI, position: 'last' }] },
    ],
    [
      'references',
      ask({
        references: [
          { type: 'image', input: image },
          { type: 'video', input: { url: 'https://example.com/a.mp4' } },
          { type: 'audio', input: { url: 'https://example.com/a.mp3' } },
        ],
      }),
      '/v1/text_to_video',
      {
        ...base,
        references: [{ uri: DATA_URI }],
        referenceVideos: [{ type: 'video', uri: 'https://example.com/a.mp4' }],
        referenceAudio: [{ type: 'audio', uri: 'https://example.com/a.mp3' }],
      },
    ],
  ],
  submissions: [
    [{ id: 't1', estimatedCost: { credits: 25 } }, 200, { type: 'accepted', ref: { id: 't1' } }],
    [{ error: 'Validation of body failed' }, 400, refused('invalid_input', 'Validation of body failed')],
    [
      { error: 'You do not have enough credits' },
      402,
      refused('upstream_rejected', 'You do not have enough credits', true),
    ],
    [{ error: 'slow down' }, 429, refused('upstream_rejected', 'slow down', true)],
  ],
  pollPath: '/v1/tasks/a%2Fb',
  polls: [
    [{ status: 'PENDING' }, { type: 'queued' }],
    [{ status: 'THROTTLED' }, { type: 'queued' }],
    [
      { status: 'RUNNING', progress: 0.25 },
      { type: 'running', progress: 25 },
    ],
    [{ status: 'RUNNING' }, { type: 'running' }],
    [
      { status: 'SUCCEEDED', output: ['https://cdn/1.mp4', 'nonsense', 7], cost: { credits: 12 } },
      { type: 'completed', assets: [{ url: 'https://cdn/1.mp4' }], cost: '0.12' },
    ],
    [{ status: 'SUCCEEDED' }, { type: 'completed', assets: [] }],
    [
      { status: 'FAILED', failure: 'no', failureCode: 'SAFETY.INPUT.TEXT', cost: { credits: 0 } },
      { type: 'failed', error: { code: 'content_policy_violation', message: 'no' }, cost: '0' },
    ],
    [
      { status: 'FAILED', failure: 'too small', failureCode: 'ASSET.INVALID' },
      { type: 'failed', error: { code: 'invalid_input', message: 'too small' } },
    ],
    [
      { status: 'FAILED', failure: 'oops', failureCode: 'INTERNAL.BAD_OUTPUT.CODE01' },
      { type: 'failed', error: { code: 'upstream_error', message: 'oops' } },
    ],
    [
      { status: 'CANCELLED', cost: { credits: 5 } },
      { type: 'cancelled', cost: '0.05' },
    ],
    [{ status: 'ARCHIVED' }, { type: 'unknown', status: 'ARCHIVED' }],
  ],
});

describe('cancelling', () => {
  const look = 'GET /v1/tasks/a%2Fb';
  test('deletes what is not over', () => {
    for (const status of ['PENDING', 'THROTTLED', 'RUNNING'])
      assert.deepEqual(cancelled(runway, ref, { status }, 204), [
        [look, 'DELETE /v1/tasks/a%2Fb'],
        { type: 'accepted' },
      ]);
  });
  test('never deletes a task that is over', () => {
    for (const status of ['SUCCEEDED', 'FAILED', 'CANCELLED'])
      assert.deepEqual(cancelled(runway, ref, { status }), [[look], { type: 'too-late' }]);
  });
  test('does nothing where the state is not known', () => {
    for (const state of [{}, { status: 'NEW' }])
      assert.deepEqual(cancelled(runway, ref, state), [[look], { type: 'unreadable' }]);
  });
});

test('frames and references exclude each other', () =>
  assert.throws(() => runway.checkRequest?.(shared), { code: 'invalid_request', param: 'input_references' }));
