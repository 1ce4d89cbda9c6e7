/** DashScope: what is sent to every generation of models, and what is read. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dashscope } from '../../../src/providers/videos/dashscope.ts';
import { ask, DATA_URI, everything, image, imageUrl, response } from './calls.ts';
import { cancelled, refused, testAdapter } from './table.ts';

const path = '/api/v1/services/aigc/video-generation/video-synthesis';
const frames = [{ type: 'first_frame', input: imageUrl } as const, { type: 'last_frame', input: image } as const];
const references = [
  { type: 'image', input: image } as const,
  { type: 'video', input: { url: 'https://example.com/a.mp4' } } as const,
  { type: 'audio', input: { url: 'https://example.com/a.mp3' } } as const,
];
const prompt = 'a red kite';
const output = (fields: object) => ({ output: { task_id: 't1', ...fields } });

testAdapter({
  api: dashscope,
  ref: { id: 'a/b' },
  headers: { 'x-dashscope-async': 'enable' },
  requests: [
    ['a prompt', ask({ model: 'wan3.0-video' }), path, { model: 'wan3.0-video', input: { prompt }, parameters: {} }],
    [
      'everything, to the newest',
      { ...everything, model: 'wan3.0-video' },
      path,
      {
        model: 'wan3.0-video',
        input: { prompt, negative_prompt: 'rain' },
        parameters: {
          style: 'film',
          model: 'other',
          resolution: '1080P',
          ratio: '16:9',
          duration: 8,
          seed: 0,
          audio: false,
        },
      },
    ],
    [
      'frames, to a name that nobody knows yet',
      ask({ model: 'wan9-video', frames }),
      path,
      {
        model: 'wan9-video',
        input: {
          prompt,
          media: [
            { type: 'first_frame', url: imageUrl.url },
            { type: 'last_frame', url: DATA_URI },
          ],
        },
        parameters: {},
      },
    ],
    [
      'references, to Wan 3',
      ask({ model: 'wan3.0-video', references }),
      path,
      {
        model: 'wan3.0-video',
        input: {
          prompt,
          media: [
            { type: 'reference_image', url: DATA_URI },
            { type: 'reference_video', url: 'https://example.com/a.mp4' },
            { type: 'reference_audio', url: 'https://example.com/a.mp3' },
          ],
        },
        parameters: {},
      },
    ],
    [
      'a frame and a sound, to Wan 2.7',
      ask({ model: 'wan2.7-i2v', resolution: '720p', frames: frames.slice(0, 1), references: references.slice(2) }),
      path,
      {
        model: 'wan2.7-i2v',
        input: {
          prompt,
          media: [
            { type: 'driving_audio', url: 'https://example.com/a.mp3' },
            { type: 'first_frame', url: imageUrl.url },
          ],
        },
        parameters: { resolution: '720P' },
      },
    ],
    [
      'a size, to Wan 2.6',
      { ...everything, model: 'wan2.6-t2v', options: undefined },
      path,
      {
        model: 'wan2.6-t2v',
        input: { prompt, negative_prompt: 'rain' },
        parameters: { size: '1920*1080', duration: 8, seed: 0, audio: false },
      },
    ],
    [
      'a frame and a sound, to Wan 2.6',
      ask({ model: 'wan2.6-i2v', resolution: '720P', frames: frames.slice(0, 1), references: references.slice(2) }),
      path,
      {
        model: 'wan2.6-i2v',
        input: { prompt, img_url: imageUrl.url, audio_url: 'https://example.com/a.mp3' },
        parameters: { resolution: '720P' },
      },
    ],
    [
      'references, to Wan 2.6',
      ask({ model: 'wan2.6-r2v', references: references.slice(0, 2) }),
      path,
      {
        model: 'wan2.6-r2v',
        input: { prompt, reference_urls: [DATA_URI, 'https://example.com/a.mp4'] },
        parameters: {},
      },
    ],
  ],
  submissions: [
    [output({ task_status: 'PENDING' }), 200, { type: 'accepted', ref: { id: 't1' } }],
    [{ code: 'InvalidParameter', message: 'size' }, 400, refused('invalid_input', 'size')],
    [{ code: 'Throttling.RateQuota', message: 'slow' }, 429, refused('upstream_rejected', 'slow', true)],
  ],
  pollPath: '/api/v1/tasks/a%2Fb',
  polls: [
    [output({ task_status: 'PENDING' }), { type: 'queued' }],
    [output({ task_status: 'SUSPENDED' }), { type: 'queued' }],
    [output({ task_status: 'RUNNING' }), { type: 'running' }],
    [
      {
        ...output({ task_status: 'SUCCEEDED', video_url: 'https://oss/1.mp4' }),
        usage: { output_video_duration: 5, duration: 9 },
      },
      { type: 'completed', assets: [{ url: 'https://oss/1.mp4', mime: 'video/mp4' }], seconds: 5 },
    ],
    [
      { ...output({ task_status: 'SUCCEEDED' }), usage: { duration: 5 } },
      { type: 'completed', assets: [], seconds: 5 },
    ],
    [
      output({ task_status: 'FAILED', code: 'DataInspectionFailed', message: 'inappropriate' }),
      { type: 'failed', error: { code: 'content_policy_violation', message: 'inappropriate' } },
    ],
    [
      output({ task_status: 'FAILED', code: 'InvalidParameter.Image', message: 'small' }),
      { type: 'failed', error: { code: 'invalid_input', message: 'small' } },
    ],
    [
      output({ task_status: 'FAILED', code: 'InternalError', message: 'oops' }),
      { type: 'failed', error: { code: 'upstream_error', message: 'oops' } },
    ],
    [output({ task_status: 'CANCELED' }), { type: 'cancelled' }],
    [output({ task_status: 'UNKNOWN' }), { type: 'lost' }],
    [output({ task_status: 'NEW' }), { type: 'unknown', status: 'NEW' }],
  ],
});

test('cancelling works while the task is pending, which the server knows', () => {
  assert.deepEqual(cancelled(dashscope, { id: 't1' }, {}), [['POST /api/v1/tasks/t1/cancel'], { type: 'accepted' }]);
  const refusal = response({ code: 'UnsupportedOperation', message: 'running' }, 400);
  assert.deepEqual(dashscope.cancel?.({ id: 't1' }).read(refusal), { type: 'too-late' });
});

test('frames and references exclude each other from Wan 3 on', () => {
  const mixed = { frames: frames.slice(0, 1), references: references.slice(2) };
  assert.doesNotThrow(() => dashscope.checkRequest?.(ask({ model: 'wan2.7-i2v', ...mixed })));
  assert.throws(() => dashscope.checkRequest?.(ask({ model: 'wan3.0-video', ...mixed })), { code: 'invalid_request' });
});
