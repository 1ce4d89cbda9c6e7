/** Responses read by each video adapter: every status word, errors in every shape, and nonsense. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../../src/core/json/json.ts';
import type { PollResult, VideoApi } from '../../../src/core/video.ts';
import { falQueue } from '../../../src/providers/videos/fal-queue.ts';
import { grokImagine } from '../../../src/providers/videos/grok-imagine.ts';
import { openaiVideos, polygateVideos } from '../../../src/providers/videos/openai-videos.ts';
import { openrouterVideos } from '../../../src/providers/videos/openrouter-videos.ts';
import { seedance } from '../../../src/providers/videos/seedance.ts';
import { veo } from '../../../src/providers/videos/veo.ts';
import { ask, context, response } from './calls.ts';

const apis: [name: string, api: VideoApi, ref: Json][] = [
  ['OpenAI', openaiVideos, { id: 't1' }],
  ['OpenRouter', openrouterVideos, { id: 't1' }],
  ['Veo', veo, { id: 'models/veo/operations/t1' }],
  ['xAI', grokImagine, { id: 't1' }],
  ['Ark', seedance, { id: 't1' }],
  ['fal', falQueue, { app: 'fal-ai/veo3.1', id: 't1' }],
];

function submit(api: VideoApi, body: Json, status = 200) {
  return api.submit(ask({ model: 'fal-ai/veo3.1/fast' }), context).read(response(body, status));
}

describe('submissions', () => {
  const accepted: [VideoApi, Json, Json][] = [
    [openaiVideos, { id: 'video_1', object: 'video', status: 'queued' }, { id: 'video_1' }],
    [openaiVideos, { id: 17 }, { id: '17' }],
    [openrouterVideos, { id: 'j1', polling_url: 'https://evil.example/', status: 'pending' }, { id: 'j1' }],
    [veo, { name: 'models/veo/operations/o1' }, { id: 'models/veo/operations/o1' }],
    [grokImagine, { request_id: 'r1' }, { id: 'r1' }],
    [seedance, { id: 'cgt-1' }, { id: 'cgt-1' }],
    [falQueue, { request_id: 'r1', status_url: 'https://evil.example/' }, { app: 'fal-ai/veo3.1', id: 'r1' }],
  ];
  for (const [api, body, ref] of accepted) {
    test(`accepted: ${JSON.stringify(body)}`, () => {
      assert.deepEqual(submit(api, body, 202), { type: 'accepted', ref });
    });
  }

  for (const [name, api] of apis) {
    test(`${name}: a success without a usable id leaves open what happened`, () => {
      const ids: Json[] = ['', '.', '..', null, {}, [], 1.5, '\ud800'];
      const bodies: Json[] = ids.map((id) => ({ id, name: id, request_id: id }));
      for (const body of [undefined, null, 'ok', 7, [], {}, ...bodies]) {
        assert.deepEqual(submit(api, body), { type: 'unreadable' }, JSON.stringify(body));
      }
    });

    const refusals: [status: number, body: Json, code: string, message: string | undefined, retryable: boolean][] = [
      [
        400,
        { error: { message: 'seconds is wrong', type: 'invalid_request_error' } },
        'invalid_input',
        'seconds is wrong',
        false,
      ],
      [
        400,
        { error: { code: 3, status: 'INVALID_ARGUMENT', message: 'no such ratio' } },
        'invalid_input',
        'no such ratio',
        false,
      ],
      [422, { detail: [{ loc: ['body'], msg: 'too long', type: 'value_error' }] }, 'invalid_input', 'too long', false],
      [
        422,
        { detail: [{ msg: 'refused', type: 'content_policy_violation' }] },
        'content_policy_violation',
        'refused',
        false,
      ],
      [
        400,
        { error: { code: 'InputTextSensitiveContentDetected', message: 'no' } },
        'content_policy_violation',
        'no',
        false,
      ],
      [
        400,
        { error: 'Blocked by content moderation' },
        'content_policy_violation',
        'Blocked by content moderation',
        false,
      ],
      [401, { error: { message: 'Incorrect key sk-abcdefghijkl' } }, 'upstream_auth', undefined, false],
      [403, undefined, 'upstream_auth', undefined, false],
      [402, { error: { message: 'Insufficient credits' } }, 'upstream_rejected', 'Insufficient credits', true],
      [404, { message: 'no such model', code: 'NotFound' }, 'model_unavailable', 'no such model', false],
      [429, { error: { message: 'slow down' } }, 'upstream_rejected', 'slow down', true],
      [409, undefined, 'upstream_rejected', undefined, false],
      [
        400,
        { detail: 'see https://internal.example/a and key sk-abcdefghijkl' },
        'invalid_input',
        'see [redacted] and key [redacted]',
        false,
      ],
    ];
    for (const [status, body, code, message, retryable] of refusals) {
      test(`${name}: ${status} ${JSON.stringify(body)}`, () => {
        const result = submit(api, body, status);
        assert.ok(result.type === 'rejected');
        assert.equal(result.error.code, code);
        assert.equal(result.retryable, retryable);
        if (message !== undefined) assert.equal(result.error.message, message);
        assert.notEqual(result.error.message, '');
        assert.doesNotMatch(result.error.message, /sk-/);
      });
    }

    test(`${name}: long words are cut`, () => {
      const result = submit(api, { error: { message: 'x'.repeat(10_000) } }, 400);
      assert.ok(result.type === 'rejected' && result.error.message.length <= 500);
    });
  }
});

describe('polls', () => {
  const failed = (message: string, code = 'upstream_error') => ({ type: 'failed', error: { code, message } });
  const nameless = 'The provider failed without saying why.';
  const file = 'https://cdn.example.com/a.mp4';

  const cases: [name: string, api: VideoApi, body: Json, expected: Json, status?: number][] = [
    ...['queued', 'pending', 'NOT_START', 'unknown', 'SUBMITTED'].map((status): (typeof cases)[number] => [
      'OpenAI',
      openaiVideos,
      { status },
      { type: 'queued' },
    ]),
    ...['in_progress', 'processing', 'IN_PROGRESS', 'running'].map((status): (typeof cases)[number] => [
      'OpenAI',
      openaiVideos,
      { status, progress: 40 },
      { type: 'running', progress: 40 },
    ]),
    ...[-1, 101, 'x', null, {}].map((progress): (typeof cases)[number] => [
      'OpenAI',
      openaiVideos,
      { status: 'in_progress', progress },
      { type: 'running' },
    ]),
    [
      'OpenAI',
      openaiVideos,
      { status: 'completed', seconds: '8' },
      { type: 'completed', seconds: 8, assets: [{ path: '/videos/t1/content' }] },
    ],
    ['OpenAI', openaiVideos, { status: 'completed', url: file }, { type: 'completed', assets: [{ url: file }] }],
    [
      'OpenAI',
      openaiVideos,
      { status: 'SUCCEEDED', metadata: { url: file } },
      { type: 'completed', assets: [{ url: file }] },
    ],
    [
      'OpenAI',
      openaiVideos,
      { status: 'completed', url: 'file:///etc/passwd' },
      { type: 'completed', assets: [{ path: '/videos/t1/content' }] },
    ],
    [
      'Polygate',
      polygateVideos,
      {
        status: 'completed',
        seconds: '8',
        unsigned_urls: [file, file],
        usage: { video_seconds: 16, video_cost: '3.2000000000', cost: 3.2 },
      },
      {
        type: 'completed',
        seconds: 16,
        cost: '3.2000000000',
        assets: [{ path: '/videos/t1/content?index=0' }, { path: '/videos/t1/content?index=1' }],
      },
    ],
    [
      'OpenAI',
      openaiVideos,
      { status: 'completed', seconds: '8', unsigned_urls: [file, file] },
      {
        type: 'completed',
        assets: [{ path: '/videos/t1/content?index=0' }, { path: '/videos/t1/content?index=1' }],
      },
    ],
    ['OpenAI', openaiVideos, { status: 'failed', error: { code: 'boom', message: 'it broke' } }, failed('it broke')],
    [
      'OpenAI',
      openaiVideos,
      { status: 'failed', error: { code: 'moderation_blocked', message: 'no' } },
      failed('no', 'content_policy_violation'),
    ],
    [
      'Polygate',
      polygateVideos,
      { status: 'failed', error: 'no', error_code: 'content_policy_violation' },
      failed('no', 'content_policy_violation'),
    ],
    ['OpenAI', openaiVideos, { status: 'failed' }, failed(nameless)],
    ['OpenAI', openaiVideos, { status: 'failed', error: null }, failed(nameless)],
    ...['cancelled', 'canceled'].map((status): (typeof cases)[number] => [
      'OpenAI',
      openaiVideos,
      { status },
      { type: 'cancelled' },
    ]),
    ['OpenAI', openaiVideos, { status: 'expired' }, { type: 'expired' }],

    ['OpenRouter', openrouterVideos, { status: 'pending' }, { type: 'queued' }],
    ['OpenRouter', openrouterVideos, { status: 'in_progress' }, { type: 'running' }],
    [
      'OpenRouter',
      openrouterVideos,
      {
        status: 'completed',
        unsigned_urls: ['https://evil.example/a', 'https://evil.example/b'],
        usage: { cost: 0.30000000000000004 },
      },
      {
        type: 'completed',
        cost: '0.3',
        assets: [{ path: '/videos/t1/content?index=0' }, { path: '/videos/t1/content?index=1' }],
      },
    ],
    [
      'OpenRouter',
      openrouterVideos,
      { status: 'completed', usage: { cost: 1e-7 } },
      { type: 'completed', cost: '0.0000001', assets: [{ path: '/videos/t1/content?index=0' }] },
    ],
    [
      'OpenRouter',
      openrouterVideos,
      { status: 'completed', usage: { cost: null } },
      { type: 'completed', assets: [{ path: '/videos/t1/content?index=0' }] },
    ],
    [
      'OpenRouter',
      openrouterVideos,
      { status: 'failed', error: 'it broke', usage: { cost: 0 } },
      { ...failed('it broke'), cost: '0' },
    ],
    ['OpenRouter', openrouterVideos, { status: 'dead' }, failed(nameless)],
    ['OpenRouter', openrouterVideos, { status: 'cancelled' }, { type: 'cancelled' }],
    ['OpenRouter', openrouterVideos, { status: 'expired' }, { type: 'expired' }],

    ['Veo', veo, { name: 'o' }, { type: 'running' }],
    ['Veo', veo, { name: 'o', done: false, metadata: {} }, { type: 'running' }],
    [
      'Veo',
      veo,
      { name: 'o', done: true, error: { code: 3, message: 'no such ratio' } },
      failed('no such ratio', 'invalid_input'),
    ],
    [
      'Veo',
      veo,
      { name: 'o', done: true, error: { code: 3, message: 'violates our usage guidelines' } },
      failed('violates our usage guidelines', 'content_policy_violation'),
    ],
    ['Veo', veo, { name: 'o', done: true, error: { code: 13 } }, failed(nameless)],
    ['Veo', veo, { name: 'o', done: true, error: { code: 5, message: 'gone' } }, failed('gone', 'model_unavailable')],
    [
      'Veo',
      veo,
      {
        done: true,
        response: {
          generateVideoResponse: {
            generatedSamples: [
              { video: { uri: 'https://generativelanguage.googleapis.com/v1beta/files/abc:download?alt=media' } },
              { video: { uri: 'https://storage.example.com/v1beta/files/abc:download?alt=media' } },
              { video: { uri: 'https://generativelanguage.googleapis.com.evil.example/v1beta/files/abc' } },
              { video: { uri: 'gs://bucket/a.mp4' } },
              { video: { encodedVideo: 'AAAA', encoding: 'video/webm' } },
              null,
            ],
          },
        },
      },
      {
        type: 'completed',
        assets: [
          { mime: 'video/mp4', path: '/v1beta/files/abc:download?alt=media' },
          { mime: 'video/mp4', url: 'https://storage.example.com/v1beta/files/abc:download?alt=media' },
          { mime: 'video/mp4', url: 'https://generativelanguage.googleapis.com.evil.example/v1beta/files/abc' },
          { mime: 'video/webm', data: 'AAAA' },
        ],
      },
    ],
    [
      'Veo: filtered',
      veo,
      {
        done: true,
        response: {
          generateVideoResponse: { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['Shows a celebrity.', 7] },
        },
      },
      failed('Shows a celebrity.', 'content_policy_violation'),
    ],
    [
      'Veo: filtered without a reason',
      veo,
      { done: true, response: { generateVideoResponse: { raiMediaFilteredCount: 1 } } },
      failed('The content was refused by the safety system of the provider.', 'content_policy_violation'),
    ],
    ['Veo: nothing', veo, { done: true, response: {} }, { type: 'completed', assets: [] }],

    ['xAI: an empty body', grokImagine, undefined, { type: 'running' }, 202],
    ['xAI', grokImagine, {}, { type: 'running' }, 202],
    ['xAI', grokImagine, { status: 'pending', progress: 18 }, { type: 'running', progress: 18 }, 202],
    ['xAI', grokImagine, { progress: 94 }, { type: 'running', progress: 94 }, 202],
    [
      'xAI: as recorded',
      grokImagine,
      {
        status: 'done',
        video: { url: file, duration: 1, respect_moderation: true },
        usage: { cost_in_usd_ticks: 500_000_000 },
        progress: 100,
      },
      { type: 'completed', seconds: 1, cost: '0.05', assets: [{ url: file, mime: 'video/mp4' }] },
    ],
    [
      'xAI: no status but a video',
      grokImagine,
      { video: { url: file } },
      { type: 'completed', assets: [{ url: file, mime: 'video/mp4' }] },
    ],
    ['xAI: done without a video', grokImagine, { status: 'done' }, { type: 'completed', assets: [] }],
    [
      'xAI: whole dollars',
      grokImagine,
      { status: 'expired', usage: { cost_in_usd_ticks: 120_000_000_000 } },
      { type: 'expired', cost: '12' },
    ],
    [
      'xAI: held back',
      grokImagine,
      { status: 'done', video: { url: '', respect_moderation: false }, usage: { cost_in_usd_ticks: 1 } },
      {
        ...failed('The content was refused by the safety system of the provider.', 'content_policy_violation'),
        cost: '0.0000000001',
      },
    ],
    ['xAI', grokImagine, { status: 'failed', error: 'it broke' }, failed('it broke')],
    ['xAI', grokImagine, { status: 'failed', error: { code: 'x', message: 'it broke' } }, failed('it broke')],
    [
      'xAI',
      grokImagine,
      { error: 'Rejected by content moderation.' },
      failed('Rejected by content moderation.', 'content_policy_violation'),
      400,
    ],
    ['xAI', grokImagine, { error: 'Bad request.' }, { type: 'unreadable' }, 400],
    [
      'xAI: refused content, without the team and the key of the gateway',
      grokImagine,
      {
        code: 'The caller does not have permission to execute the specified operation',
        error:
          'Content violates usage guidelines. Team: 0a1b2c3d-1111-2222-3333-444455556666, API key ID: 0a1b2c3d-1111-2222-3333-444455556667, Model: grok-imagine-video, Failed check: SAFETY_CHECK_TYPE_BIO',
      },
      failed(
        'Content violates usage guidelines. [redacted], [redacted], Model: grok-imagine-video, Failed check: SAFETY_CHECK_TYPE_BIO',
        'content_policy_violation',
      ),
      403,
    ],
    [
      'xAI: a team that is blocked',
      grokImagine,
      { error: 'Your team is blocked for violations of the usage guidelines.' },
      { type: 'unreadable' },
      403,
    ],

    ['Ark', seedance, { status: 'queued' }, { type: 'queued' }],
    ['Ark', seedance, { status: 'running' }, { type: 'running' }],
    [
      'Ark',
      seedance,
      { status: 'succeeded', content: { video_url: file }, duration: '5', usage: { completion_tokens: 108_900 } },
      { type: 'completed', seconds: 5, tokens: 108_900, assets: [{ url: file, mime: 'video/mp4' }] },
    ],
    [
      'Ark: a length that the model chose',
      seedance,
      {
        status: 'succeeded',
        content: {},
        duration: -1,
        frames: 121,
        framespersecond: 24,
        usage: { total_tokens: '5' },
      },
      { type: 'completed', seconds: 121 / 24, tokens: 5, assets: [] },
    ],
    [
      'Ark',
      seedance,
      { status: 'failed', error: { code: 'InternalServiceError', message: 'it broke' } },
      failed('it broke'),
    ],
    [
      'Ark',
      seedance,
      { status: 'failed', error: { code: 'OutputVideoSensitiveContentDetected', message: 'no' } },
      failed('no', 'content_policy_violation'),
    ],
    ['Ark', seedance, { status: 'failed' }, failed(nameless)],
    ...['cancelled', 'canceled'].map((status): (typeof cases)[number] => [
      'Ark',
      seedance,
      { status },
      { type: 'cancelled' },
    ]),
    ['Ark', seedance, { status: 'expired' }, { type: 'expired' }],

    ['fal', falQueue, { status: 'IN_QUEUE', queue_position: 3 }, { type: 'queued' }, 202],
    ['fal', falQueue, { status: 'IN_PROGRESS' }, { type: 'running' }, 202],
    [
      'fal',
      falQueue,
      { status: 'COMPLETED', error: 'it broke', error_type: 'runner_server_error' },
      failed('it broke'),
    ],
    ['fal', falQueue, { status: 'FAILED' }, failed(nameless)],
    [
      'fal',
      falQueue,
      { status: 'COMPLETED', error: 'Request was cancelled.', error_type: 'client_cancelled' },
      { type: 'cancelled' },
    ],
  ];
  for (const [name, api, body, expected, status] of cases) {
    test(`${name}: ${status ?? 200} ${JSON.stringify(body)}`, () => {
      const ref = apis.find(([, known]) => known.poll === api.poll)?.[2];
      assert.deepEqual(api.poll(ref).read(response(body, status)), expected);
    });
  }

  for (const [name, api, ref] of apis) {
    test(`${name}: words never seen, wrong types and errors`, () => {
      const read = (body: Json, status = 200) => api.poll(ref).read(response(body, status));
      if (api !== veo) assert.deepEqual(read({ status: 'constructor' }), { type: 'unknown', status: 'constructor' });
      for (const status of [null, 7, {}, [], '']) {
        assert.deepEqual(read({ status }), { type: 'unreadable' }, JSON.stringify(status));
      }
      for (const body of [undefined, null, 'ok', 7, [], {}]) assert.deepEqual(read(body), { type: 'unreadable' });
      for (const status of [301, 400, 409, 418])
        assert.deepEqual(read({ status: 'done' }, status), { type: 'unreadable' });
      assert.deepEqual(read(undefined, 410), { type: 'lost' });
    });
  }
});

describe('fal: the result behind a finished request', () => {
  const follow = falQueue
    .poll({ app: 'fal-ai/veo3.1', id: 'r 1' })
    .read(response({ status: 'COMPLETED', response_url: 'https://evil.example/' }));
  assert.ok(follow.type === 'follow');
  const { call } = follow;

  test('lies where the task lies, whatever address the response names', () => {
    assert.equal(`${call.method} ${call.path}`, 'GET /fal-ai/veo3.1/requests/r%201');
  });

  const url = 'https://v3.fal.media/files/a.mp4';
  const results: [status: number, body: Json, expected: PollResult, headers?: Record<string, string>][] = [
    [
      200,
      { video: { url, content_type: 'video/mp4', duration: 8 } },
      { type: 'completed', seconds: 8, assets: [{ url, mime: 'video/mp4' }] },
    ],
    [200, { video: url }, { type: 'completed', assets: [{ url }] }],
    [200, { videos: [{ url }, { url: 7 }, null] }, { type: 'completed', assets: [{ url }] }],
    [200, {}, { type: 'completed', assets: [] }],
    [200, undefined, { type: 'completed', assets: [] }],
    [400, { detail: 'Request is still in progress' }, { type: 'running' }],
    [202, { status: 'IN_PROGRESS' }, { type: 'running' }],
    [
      422,
      { detail: [{ msg: 'refused', type: 'content_policy_violation' }] },
      { type: 'failed', error: { code: 'content_policy_violation', message: 'refused' } },
    ],
    [
      422,
      { detail: [{ msg: 'too long', type: 'value_error' }] },
      { type: 'failed', error: { code: 'invalid_input', message: 'too long' } },
    ],
    [499, { detail: 'cancelled', error_type: 'client_cancelled' }, { type: 'cancelled' }],
    [499, undefined, { type: 'cancelled' }, { 'x-fal-error-type': 'client_cancelled' }],
    [302, undefined, { type: 'unreadable' }],
  ];
  for (const [status, body, expected, headers] of results) {
    test(`${status} ${JSON.stringify(body)}`, () =>
      assert.deepEqual(call.read(response(body, status, headers)), expected));
  }
});

describe('cancelling', () => {
  test('Ark: only what is queued is deleted', () => {
    const call = seedance.cancel?.({ id: 't1' });
    assert.ok(call);
    for (const status of ['running', 'succeeded', 'failed', 'cancelled', 'expired']) {
      assert.deepEqual(call.read(response({ status, content: {} })), { type: 'too-late' });
    }
    assert.deepEqual(call.read(response(undefined)), { type: 'unreadable' });
    assert.deepEqual(call.read(response({ status: 'new word' })), { type: 'unreadable' });
    const next = call.read(response({ status: 'queued' }));
    assert.ok(next.type === 'follow');
    assert.equal(`${next.call.method} ${next.call.path}`, 'DELETE /contents/generations/tasks/t1');
    assert.deepEqual(next.call.read(response({})), { type: 'accepted' });
    assert.deepEqual(next.call.read(response({ error: { code: 'InvalidAction.RunningTaskDeletion' } }, 409)), {
      type: 'too-late',
    });
  });

  test('fal and Polygate', () => {
    const fal = falQueue.cancel?.({ app: 'a/b', id: 'r1' });
    assert.deepEqual(fal?.read(response({ status: 'CANCELLATION_REQUESTED' }, 202)), { type: 'accepted' });
    assert.deepEqual(fal?.read(response({ status: 'ALREADY_COMPLETED' }, 400)), { type: 'too-late' });
    assert.deepEqual(fal?.read(response({ status: 'ALREADY_COMPLETED' }, 200)), { type: 'too-late' });
    assert.deepEqual(fal?.read(response(undefined, 302)), { type: 'unreadable' });
    const polygate = polygateVideos.cancel?.({ id: 't1' });
    assert.deepEqual(polygate?.read(response({ status: 'in_progress' })), { type: 'accepted' });
    assert.deepEqual(polygate?.read(response({ error: {} }, 409)), { type: 'too-late' });
  });
});

describe('looking for a lost submission', () => {
  const sentAt = 1_795_219_952;
  const lost = { ...context, sentAt, otherRefs: [], request: ask({ prompt: 'a red kite', seed: 5, duration: 8 }) };
  const mine = { id: 'v1', model: 'some/model', prompt: 'a red kite', created_at: sentAt + 1 };
  const old = { id: 'v0', model: 'some/model', prompt: 'a red kite', created_at: sentAt - 3600 };
  const other = { id: 'v2', model: 'some/model', prompt: 'a dog', created_at: sentAt + 2 };

  const openai: [name: string, body: Json, expected: Json][] = [
    [
      'found by model, prompt and time',
      { data: [other, mine, old], has_more: true },
      { type: 'found', ref: { id: 'v1' } },
    ],
    ['the model by its last name', { data: [{ ...mine, model: 'model' }] }, { type: 'found', ref: { id: 'v1' } }],
    ['none in the whole list', { data: [other], has_more: false }, { type: 'none' }],
    ['none, and the list goes back far enough', { data: [other, old], has_more: true }, { type: 'none' }],
    ['the list may be too short', { data: [other], has_more: true }, { type: 'unclear' }],
    ['two of them', { data: [mine, { ...mine, id: 'v3' }], has_more: false }, { type: 'unclear' }],
    ['a task without a prompt', { data: [{ ...mine, prompt: null }], has_more: false }, { type: 'unclear' }],
    ['a model by another name', { data: [{ ...mine, model: 'alias' }], has_more: false }, { type: 'unclear' }],
    ['a task without an id', { data: [{ ...mine, id: null }], has_more: false }, { type: 'unclear' }],
    ['no list', { error: {} }, { type: 'unclear' }],
    ['no tasks', { data: [1, null] }, { type: 'unclear' }],
    ['an empty body', undefined, { type: 'unclear' }],
  ];
  for (const [name, body, expected] of openai) {
    test(`OpenAI: ${name}`, () => assert.deepEqual(openaiVideos.find?.(lost).read(response(body)), expected));
  }

  test('OpenAI: what another submission has is not the lost one', () => {
    const body = { data: [mine, { ...mine, id: 'v3' }], has_more: false };
    const find = (...otherRefs: Json[]) => openaiVideos.find?.({ ...lost, otherRefs }).read(response(body));
    assert.deepEqual(find({ id: 'v1' }), { type: 'found', ref: { id: 'v3' } });
    assert.deepEqual(find({ id: 'v1' }, { id: 'v3' }), { type: 'none' });
  });

  const task = { id: 'cgt-1', model: 'seedance-x', created_at: sentAt, seed: 5, duration: '8', resolution: '720p' };
  const ark: [name: string, body: Json, expected: Json][] = [
    ['found by its seed', { items: [task], total: 1 }, { type: 'found', ref: { id: 'cgt-1' } }],
    ['another seed', { items: [{ ...task, seed: 6 }], total: 1 }, { type: 'none' }],
    ['another length', { items: [{ ...task, duration: 9 }], total: 1 }, { type: 'none' }],
    ['nothing says whose it is', { items: [{ id: 'cgt-1', created_at: sentAt }], total: 1 }, { type: 'unclear' }],
    ['more pages', { items: [{ ...task, seed: 6 }], total: 101 }, { type: 'unclear' }],
    ['an empty list', { items: [], total: 0 }, { type: 'none' }],
    ['no list', {}, { type: 'unclear' }],
  ];
  for (const [name, body, expected] of ark) {
    test(`Ark: ${name}`, () => assert.deepEqual(seedance.find?.(lost).read(response(body)), expected));
  }

  test('Ark: without a seed nobody can tell', () => {
    const unseeded = { ...lost, request: ask() };
    assert.deepEqual(seedance.find?.(unseeded).read(response({ items: [task], total: 1 })), { type: 'unclear' });
  });

  test('Ark: cheap tasks have a list of their own', () => {
    const path = '/contents/generations/tasks?page_num=1&page_size=100';
    const flex = { ...lost, request: ask({ options: { service_tier: 'flex' } }) };
    assert.equal(seedance.find?.(lost).path, path);
    assert.equal(seedance.find?.(flex).path, `${path}&filter.service_tier=flex`);
  });
});

test('ids, addresses and amounts without end are none', () => {
  const long = 'a'.repeat(20_000);
  assert.deepEqual(submit(openaiVideos, { id: long }), { type: 'unreadable' });
  const done = { status: 'completed', url: `https://cdn.example/${long}`, usage: { cost: `0.${'1'.repeat(1000)}` } };
  assert.deepEqual(openaiVideos.poll({ id: 't1' }).read(response(done, 200)), {
    type: 'completed',
    assets: [{ path: '/videos/t1/content' }],
  });
});
