/** Kling: what is sent on which path, what is read, and how a lost task is found by our own id. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../../src/core/json/json.ts';
import { kling } from '../../../src/providers/videos/kling.ts';
import { ask, context, everything, image, imageUrl, response } from './calls.ts';
import { refused, testAdapter } from './table.ts';

const ref = { kind: 'image2video', id: 'a/b' };
const frames = [{ type: 'first_frame', input: imageUrl } as const, { type: 'last_frame', input: image } as const];
const references = [
  { type: 'image', input: image } as const,
  { type: 'image', input: imageUrl } as const,
  { type: 'video', input: { url: 'https://example.com/a.mp4' } } as const,
];
const base = { model_name: 'kling-v2-6', prompt: 'a red kite', external_task_id: context.attemptId };
const model = 'kling-v2.6';
const data = (fields: object) => ({ code: 0, message: 'SUCCEED', data: { task_id: 't1', ...fields } });
const code = (number: number, message = 'no') => ({ code: number, message, request_id: 'r' });

testAdapter({
  api: kling,
  ref,
  requests: [
    ['a prompt', ask({ model }), '/v1/videos/text2video', base],
    [
      'everything',
      { ...everything, model },
      '/v1/videos/text2video',
      {
        ...base,
        style: 'film',
        model: 'other',
        mode: 'pro',
        negative_prompt: 'rain',
        duration: '8',
        aspect_ratio: '16:9',
        sound: 'off',
      },
    ],
    [
      'a mode that the caller chose',
      ask({ model, resolution: '720p', audio: true, options: { mode: 'pro' } }),
      '/v1/videos/text2video',
      { ...base, mode: 'pro', sound: 'on' },
    ],
    [
      'frames, which bring their ratio',
      ask({ model, frames, aspectRatio: '1:1' }),
      '/v1/videos/image2video',
      { ...base, image: imageUrl.url, image_tail: image.data },
    ],
    [
      'references',
      ask({ model, references: references.slice(0, 2), aspectRatio: '1:1' }),
      '/v1/videos/multi-image2video',
      { ...base, aspect_ratio: '1:1', image_list: [{ image: image.data }, { image: imageUrl.url }] },
    ],
    [
      'references, to an omni model',
      ask({ model: 'kling-v3-omni', references }),
      '/v1/videos/omni-video',
      {
        ...base,
        model_name: 'kling-v3-omni',
        image_list: [{ image_url: image.data }, { image_url: imageUrl.url }],
        video_list: [{ video_url: 'https://example.com/a.mp4', refer_type: 'feature' }],
      },
    ],
    [
      'frames, to an omni model',
      ask({ model: 'kling-video-o1', frames }),
      '/v1/videos/omni-video',
      {
        ...base,
        model_name: 'kling-video-o1',
        image_list: [
          { image_url: imageUrl.url, type: 'first_frame' },
          { image_url: image.data, type: 'end_frame' },
        ],
      },
    ],
  ],
  submissions: [
    [data({ task_status: 'submitted' }), 200, { type: 'accepted', ref: { kind: 'text2video', id: 't1' } }],
    [code(1201, 'duration'), 400, refused('invalid_input', 'duration')],
    [code(1201, 'duration'), 200, refused('invalid_input', 'duration')],
    [code(1301, 'risk'), 400, refused('content_policy_violation', 'risk')],
    [code(1102), 429, refused('upstream_rejected', 'no', true)],
    [code(1303), 429, refused('upstream_rejected', 'no', true)],
    [code(1203), 404, refused('model_unavailable', 'no')],
    [code(1002), 401, refused('upstream_auth', 'The provider refused the credentials of this gateway.')],
    [code(7777), 200, refused('upstream_rejected', 'no')],
    [code(5000), 200, { type: 'unreadable' }],
  ],
  pollPath: '/v1/videos/image2video/a%2Fb',
  polls: [
    [data({ task_status: 'submitted' }), { type: 'queued' }],
    [data({ task_status: 'processing' }), { type: 'running' }],
    [
      data({
        task_status: 'succeed',
        task_result: {
          videos: [
            { id: 'v1', url: 'https://cdn/1.mp4', duration: '5.1' },
            { id: 'v2', url: 'https://cdn/2.mp4', duration: '5' },
          ],
        },
        final_unit_deduction: '2.5',
      }),
      {
        type: 'completed',
        assets: [
          { url: 'https://cdn/1.mp4', mime: 'video/mp4' },
          { url: 'https://cdn/2.mp4', mime: 'video/mp4' },
        ],
        seconds: 10.1,
      },
    ],
    [data({ task_status: 'succeed' }), { type: 'completed', assets: [] }],
    [
      data({ task_status: 'failed', task_status_msg: 'Failure to pass the risk control system' }),
      {
        type: 'failed',
        error: { code: 'content_policy_violation', message: 'Failure to pass the risk control system' },
      },
    ],
    [
      data({ task_status: 'failed', task_status_msg: 'oops' }),
      { type: 'failed', error: { code: 'upstream_error', message: 'oops' } },
    ],
    [data({ task_status: 'paused' }), { type: 'unknown', status: 'paused' }],
    [{ ...data({ task_status: 'failed' }), code: 5000 }, { type: 'unreadable' }],
  ],
});

describe('finding', () => {
  const lost = { ...context, request: ask({ model }), sentAt: 1_795_000_000, otherRefs: [] };
  const task = (task_id: string, external_task_id?: string, created_at = 1_795_000_001_000): Json => ({
    task_id,
    created_at,
    task_info: { external_task_id },
  });
  const find = (tasks: Json) => kling.find?.(lost).read(response({ code: 0, data: tasks }));

  test('asks for the list of the same kind', () => {
    const call = kling.find?.({ ...lost, request: ask({ model, frames }) });
    assert.deepEqual([call?.method, call?.path], ['GET', '/v1/videos/image2video?pageNum=1&pageSize=500']);
  });
  test('knows our task by our id', () =>
    assert.deepEqual(find([task('1', 'other'), task('2', context.attemptId)]), {
      type: 'found',
      ref: { kind: 'text2video', id: '2' },
    }));
  test('knows that there is none', () => {
    assert.deepEqual(find([]), { type: 'none' });
    assert.deepEqual(find([task('1', 'other')]), { type: 'none' });
    assert.deepEqual(find([task('1', undefined, 1_700_000_000_000)]), { type: 'none' });
  });
  test('cannot tell where ids are missing or the list is long', () => {
    assert.deepEqual(find([task('1')]), { type: 'unclear' });
    assert.deepEqual(find(Array.from({ length: 500 }, (_, id) => task(String(id), 'other'))), { type: 'unclear' });
    for (const data of [undefined, {}, 'x']) assert.deepEqual(find(data), { type: 'unclear' });
  });
});

test('frames and references exclude each other', () =>
  assert.throws(() => kling.checkRequest?.(ask({ frames, references })), { code: 'invalid_request' }));

test('refuses a mode that makes another resolution than the one that is charged', () => {
  const check = (changes: object) => () => kling.checkRequest?.(ask({ model, ...changes }));
  for (const resolution of ['720p', undefined]) {
    const refusal = { code: 'invalid_request', param: 'provider.options' };
    assert.throws(check({ resolution, options: { mode: 'pro' } }), refusal);
  }
  assert.doesNotThrow(check({ resolution: '1080p', options: { mode: 'pro', cfg_scale: 1 } }));
  assert.doesNotThrow(check({ options: { cfg_scale: 1 } }));
});

test('a running task cannot be cancelled', () => assert.equal(kling.cancel, undefined));
