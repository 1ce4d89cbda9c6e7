/** Luma: what is sent, what is read, and how a lost generation is found. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../../src/core/json/json.ts';
import { luma } from '../../../src/providers/videos/luma.ts';
import { ask, context, DATA_URI, everything, image, imageUrl, response } from './calls.ts';
import { cancelled, refused, testAdapter } from './table.ts';

const ref = { id: 'a/b' };
const path = '/generations/video';
const base = { generation_type: 'video', model: 'some/model', prompt: 'a red kite' };

testAdapter({
  api: luma,
  ref,
  requests: [
    ['a prompt', ask(), path, base],
    [
      'everything',
      everything,
      path,
      { ...base, style: 'film', aspect_ratio: '16:9', resolution: '1080p', duration: '8s' },
    ],
    [
      'two frames',
      ask({
        frames: [
          { type: 'first_frame', input: imageUrl },
          { type: 'last_frame', input: image },
        ],
      }),
      path,
      {
        ...base,
        keyframes: { frame0: { type: 'image', url: imageUrl.url }, frame1: { type: 'image', url: DATA_URI } },
      },
    ],
    [
      'a last frame',
      ask({ frames: [{ type: 'last_frame', input: imageUrl }] }),
      path,
      { ...base, keyframes: { frame1: { type: 'image', url: imageUrl.url } } },
    ],
  ],
  submissions: [
    [{ id: 'g1', state: 'queued' }, 201, { type: 'accepted', ref: { id: 'g1' } }],
    [{ detail: 'Insufficient credits' }, 402, refused('upstream_rejected', 'Insufficient credits', true)],
    [{ detail: [{ type: 'enum', msg: 'bad duration' }] }, 422, refused('invalid_input', 'bad duration')],
  ],
  pollPath: '/generations/a%2Fb',
  polls: [
    [{ state: 'queued' }, { type: 'queued' }],
    [{ state: 'dreaming' }, { type: 'running' }],
    [
      { state: 'completed', assets: { video: 'https://cdn/1.mp4', image: 'https://cdn/1.jpg' } },
      { type: 'completed', assets: [{ url: 'https://cdn/1.mp4', mime: 'video/mp4' }] },
    ],
    [{ state: 'completed' }, { type: 'completed', assets: [] }],
    [
      { state: 'failed', failure_reason: '400: prompt was moderated' },
      { type: 'failed', error: { code: 'content_policy_violation', message: '400: prompt was moderated' } },
    ],
    [
      { state: 'failed', failure_reason: null },
      { type: 'failed', error: { code: 'upstream_error', message: 'The provider failed without saying why.' } },
    ],
    [{ state: 'sleeping' }, { type: 'unknown', status: 'sleeping' }],
  ],
});

describe('cancelling', () => {
  const look = 'GET /generations/a%2Fb';
  test('deletes what is queued', () =>
    assert.deepEqual(cancelled(luma, ref, { state: 'queued' }, 204), [
      [look, 'DELETE /generations/a%2Fb'],
      { type: 'accepted' },
    ]));
  test('never deletes what is being made or was made', () => {
    for (const state of ['dreaming', 'completed', 'failed'])
      assert.deepEqual(cancelled(luma, ref, { state }), [[look], { type: 'too-late' }]);
  });
});

describe('finding', () => {
  const request = ask({ model: 'ray-2', duration: 5 });
  const sentAt = Date.parse('2026-11-21T06:00:00Z') / 1000;
  const generation = (fields: object = {}, created_at = '2026-11-21T06:00:01Z'): Json => ({
    id: 'g1',
    created_at,
    request: { model: 'ray-2', prompt: 'a red kite', duration: '5s', ...fields },
  });
  const find = (generations: Json, has_more = true) =>
    luma.find?.({ ...context, request, sentAt, otherRefs: [] }).read(response({ generations, has_more }));

  test('knows what repeats all that was asked', () => {
    assert.deepEqual(find([generation({ loop: false }), generation({ prompt: 'other' })]), {
      type: 'found',
      ref: { id: 'g1' },
    });
  });
  test('knows that there is none', () => {
    assert.deepEqual(find([], false), { type: 'none' });
    assert.deepEqual(find([generation({ model: 'ray-flash-2' })], false), { type: 'none' });
    assert.deepEqual(find([generation({}, '2026-11-21T05:00:00Z')]), { type: 'none' });
  });
  test('cannot tell one of several, a changed one, or beyond a page', () => {
    assert.deepEqual(find([generation(), generation()]), { type: 'unclear' });
    assert.deepEqual(find([generation({ duration: '5.0s' })], false), { type: 'unclear' });
    assert.deepEqual(find([{ id: 'g1', created_at: '2026-11-21T06:00:01Z' }], false), { type: 'unclear' });
    assert.deepEqual(find([generation({ prompt: 'other' })]), { type: 'unclear' });
    for (const list of [undefined, {}, [null]]) assert.deepEqual(find(list), { type: 'unclear' });
  });
});
