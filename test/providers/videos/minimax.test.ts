/** MiniMax: what is sent, and what is read. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { minimax } from '../../../src/providers/videos/minimax.ts';
import { ask, DATA_URI, everything, image, imageUrl } from './calls.ts';
import { cancelled, refused, testAdapter } from './table.ts';

const ref = { id: 'a/b' };
const text = { type: 'text', text: 'a red kite' };
const path = '/v2/video_generation';
const numbered = (status_code: number, status_msg = 'no') => ({ base_resp: { status_code, status_msg } });

testAdapter({
  api: minimax,
  ref,
  requests: [
    ['a prompt', ask(), path, { model: 'some/model', content: [text] }],
    [
      'everything',
      everything,
      path,
      { model: 'some/model', style: 'film', content: [text], resolution: '1080P', duration: 8, ratio: '16:9' },
    ],
    [
      'frames, which bring their ratio',
      ask({
        resolution: '2k',
        aspectRatio: '1:1',
        frames: [
          { type: 'first_frame', input: imageUrl },
          { type: 'last_frame', input: image },
        ],
      }),
      path,
      {
        model: 'some/model',
        content: [
          text,
          { type: 'image_url', image_url: { url: imageUrl.url }, role: 'first_frame' },
          { type: 'image_url', image_url: { url: DATA_URI }, role: 'last_frame' },
        ],
        resolution: '2K',
      },
    ],
    [
      'references',
      ask({
        prompt: undefined,
        references: [
          { type: 'image', input: image },
          { type: 'video', input: { url: 'https://example.com/a.mp4' } },
          { type: 'audio', input: { url: 'https://example.com/a.mp3' } },
        ],
      }),
      path,
      {
        model: 'some/model',
        content: [
          { type: 'text', text: '' },
          { type: 'image_url', image_url: { url: DATA_URI }, role: 'reference_image' },
          { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' }, role: 'reference_video' },
          { type: 'audio_url', audio_url: { url: 'https://example.com/a.mp3' }, role: 'reference_audio' },
        ],
      },
    ],
  ],
  submissions: [
    [{ task_id: '4010', ...numbered(0, 'success') }, 200, { type: 'accepted', ref: { id: '4010' } }],
    [numbered(1002, 'rate limit'), 200, refused('upstream_rejected', 'rate limit', true)],
    [numbered(1008, 'insufficient balance'), 200, refused('upstream_rejected', 'insufficient balance', true)],
    [numbered(1026, 'sensitive'), 200, refused('content_policy_violation', 'sensitive')],
    [numbered(2013, 'invalid params'), 200, refused('invalid_input', 'invalid params')],
    [numbered(2049), 200, refused('upstream_auth', 'The provider refused the credentials of this gateway.')],
    [numbered(9999), 200, refused('upstream_rejected', 'no')],
    [numbered(1001, 'request timeout'), 200, { type: 'unreadable' }],
    [{ type: 'error', error: { type: 'bad_request', message: 'no text' } }, 400, refused('invalid_input', 'no text')],
  ],
  pollPath: '/v2/query/video_generation/a%2Fb',
  polls: [
    [{ task: { status: 'queued' } }, { type: 'queued' }],
    [{ task: { status: 'running' } }, { type: 'running' }],
    [
      {
        task: { status: 'succeeded', content: { url: 'https://cdn/1.mp4' }, usage: { output_seconds: 5 }, duration: 6 },
      },
      { type: 'completed', assets: [{ url: 'https://cdn/1.mp4', mime: 'video/mp4' }], seconds: 5 },
    ],
    [{ task: { status: 'succeeded' } }, { type: 'completed', assets: [] }],
    [
      { task: { status: 'failed', error: { code: 1027, message: 'no' } } },
      { type: 'failed', error: { code: 'content_policy_violation', message: 'no' } },
    ],
    [
      { task: { status: 'failed', error: { code: '2013', message: 'no' } } },
      { type: 'failed', error: { code: 'invalid_input', message: 'no' } },
    ],
    [
      { task: { status: 'failed' } },
      { type: 'failed', error: { code: 'upstream_error', message: 'The provider failed without saying why.' } },
    ],
    [{ task: { status: 'cancelled' } }, { type: 'cancelled' }],
    [{ task: { status: 'expired' } }, { type: 'expired' }],
    [{ task: { status: 'paused' } }, { type: 'unknown', status: 'paused' }],
    [numbered(1004), { type: 'unreadable' }],
  ],
});

describe('cancelling', () => {
  const look = 'GET /v2/query/video_generation/a%2Fb';
  test('deletes what is queued', () =>
    assert.deepEqual(cancelled(minimax, ref, { task: { status: 'queued' } }), [
      [look, 'DELETE /v2/video_generation/a%2Fb'],
      { type: 'accepted' },
    ]));
  test('is too late when it began to run in between', () =>
    assert.deepEqual(cancelled(minimax, ref, { task: { status: 'queued' } }, 400)[1], { type: 'too-late' }));
  test('never deletes what runs or is over', () => {
    for (const status of ['running', 'succeeded', 'failed', 'cancelled', 'expired'])
      assert.deepEqual(cancelled(minimax, ref, { task: { status } }), [[look], { type: 'too-late' }]);
  });
});

test('frames and references exclude each other', () =>
  assert.throws(
    () =>
      minimax.checkRequest?.(
        ask({
          frames: [{ type: 'first_frame', input: image }],
          references: [{ type: 'image', input: image }],
        }),
      ),
    { code: 'invalid_request', param: 'input_references' },
  ));
