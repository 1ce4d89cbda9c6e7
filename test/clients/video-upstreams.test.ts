/** Every adapter against upstreams that others wrote: what is sent is understood, what comes back is read. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import type { Provider } from '../../src/core/provider.ts';
import type { VideoRequest } from '../../src/core/video.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { VideoDriver } from './video-driver.ts';

const URL_OF_VIDEO = 'https://cdn.example.com/kite.mp4';
const VIDEO = Buffer.from('a video of a kite');

const progression = { pollsBeforeInProgress: 1, pollsBeforeCompleted: 2 };
const mock = new LLMock({
  port: 0,
  openRouterVideo: progression,
  veoVideo: progression,
  grokVideo: progression,
  bytePlusVideo: progression,
  falQueue: progression,
});

before(async () => {
  mock.onVideo('a kite', {
    video: { id: 'v1', status: 'completed', url: URL_OF_VIDEO, b64: VIDEO.toString('base64'), cost: 0.25, duration: 5 },
  });
  mock.onVideo('a wreck', { video: { id: 'v2', status: 'failed', error: 'The renderer gave up.' } });
  for (const [text, envelope] of Object.entries({
    'Ark: kite': {
      status: 'succeeded',
      content: { video_url: URL_OF_VIDEO },
      duration: 5,
      usage: { completion_tokens: 108_900, total_tokens: 108_900 },
    },
    'Ark: wreck': { status: 'failed', error: { code: 'InternalServiceError', message: 'The renderer gave up.' } },
    'Ark: secret': {
      status: 'failed',
      error: { code: 'OutputVideoSensitiveContentDetected', message: 'Refused.' },
    },
    'Ark: halt': { status: 'cancelled' },
    'Ark: delay': { status: 'expired' },
  })) {
    mock.addFixture({
      match: { endpoint: 'video', userMessage: text },
      response: { json: { id: 'cgt-1', ...envelope } },
    });
  }
  mock.onFalVideo('fal-ai/veo3.1/fast', { video: { id: 'v1', status: 'completed', url: URL_OF_VIDEO } });
  await mock.start();
});
after(() => mock.stop());

function driver(type: string, path: string, headers?: Record<string, string>): VideoDriver {
  const provider: Provider | undefined = providerTypes.get(type)?.create({ id: type, baseUrl: mock.url + path });
  assert.ok(provider);
  return new VideoDriver(provider, { headers });
}

const drivers = {
  openai: () => driver('openai', '/v1'),
  openrouter: () => driver('openrouter', '/api/v1'),
  google: () => driver('google', ''),
  xai: () => driver('xai', '/v1'),
  byteplus: () => driver('byteplus', '/api/v3'),
  fal: () => driver('fal', '/fal', { 'x-fal-target-host': 'queue.fal.run' }),
};

function ask(prompt: string, fields: Partial<VideoRequest> = {}): VideoRequest {
  return { model: 'some-model', prompt, duration: 5, frames: [], references: [], count: 1, ...fields };
}

const image = { data: 'iVBORw0KGgo=', mime: 'image/png' };

describe('OpenAI', () => {
  test('JSON: done at once', async () => {
    const { end } = await drivers.openai().make(ask('a kite'));
    assert.deepEqual(end, { type: 'completed', assets: [{ url: URL_OF_VIDEO }] });
  });

  test('a form with a first frame', async () => {
    const { end } = await drivers.openai().make(ask('a kite', { frames: [{ type: 'first_frame', input: image }] }));
    assert.equal(end.type, 'completed');
  });

  test('failed', async () => {
    const { end } = await drivers.openai().make(ask('a wreck'));
    assert.equal(end.type, 'failed');
  });

  test('refused: nothing is known of this prompt', async () => {
    const result = await drivers.openai().submit(ask('nothing'));
    assert.ok(result.type === 'rejected');
    assert.equal(result.error.code, 'model_unavailable');
  });
});

describe('OpenRouter', () => {
  test('queued, running, done, and fetched with the key only', async () => {
    const openrouter = drivers.openrouter();
    const { states, end } = await openrouter.make(
      ask('a kite', { resolution: '720p', aspectRatio: '16:9', audio: true }),
    );
    assert.deepEqual(states, ['running', 'completed']);
    assert.ok(end.type === 'completed');
    assert.equal(end.cost, '0.25');
    const [asset] = end.assets;
    assert.ok(asset && 'path' in asset);
    const fetched = await openrouter.fetch(asset.path);
    assert.deepEqual(Buffer.from(await fetched.arrayBuffer()), VIDEO);
    assert.equal((await fetch(`${mock.url}/api/v1${asset.path}`)).status, 401);
  });

  test('failed', async () => {
    const { end } = await drivers.openrouter().make(ask('a wreck'));
    assert.ok(end.type === 'failed');
    assert.deepEqual(end.error, { code: 'upstream_error', message: 'The renderer gave up.' });
  });
});

describe('Veo', () => {
  test('running, then done', async () => {
    const veo = drivers.google();
    const { states, end } = await veo.make(
      ask('a kite', { duration: 8, frames: [{ type: 'first_frame', input: image }] }),
    );
    assert.ok(states.length > 1 && states.slice(0, -1).every((state) => state === 'running'));
    assert.deepEqual(end, { type: 'completed', assets: [{ url: URL_OF_VIDEO, mime: 'video/mp4' }] });
  });

  test('failed', async () => {
    const { end } = await drivers.google().make(ask('a wreck'));
    assert.ok(end.type === 'failed');
    assert.equal(end.error.message, 'The renderer gave up.');
  });
});

describe('xAI', () => {
  test('running, then done, with its length and charge', async () => {
    const { states, end } = await drivers.xai().make(ask('a kite'));
    assert.ok(states.slice(0, -1).every((state) => state === 'running'));
    assert.deepEqual(end, {
      type: 'completed',
      seconds: 5,
      cost: '0.25',
      assets: [{ url: URL_OF_VIDEO, mime: 'video/mp4' }],
    });
  });

  test('failed, with an error that is text', async () => {
    const { end } = await drivers.xai().make(ask('a wreck'));
    assert.ok(end.type === 'failed');
    assert.equal(end.error.message, 'The renderer gave up.');
  });
});

describe('Ark', () => {
  test('queued, running, done, with its tokens', async () => {
    const { states, end } = await drivers
      .byteplus()
      .make(ask('Ark: kite', { resolution: '720p', aspectRatio: '16:9' }));
    assert.ok(states.includes('running'));
    assert.deepEqual(end, {
      type: 'completed',
      seconds: 5,
      tokens: 108_900,
      assets: [{ url: URL_OF_VIDEO, mime: 'video/mp4' }],
    });
  });

  const ends = {
    'Ark: wreck': { type: 'failed', error: { code: 'upstream_error', message: 'The renderer gave up.' } },
    'Ark: secret': { type: 'failed', error: { code: 'content_policy_violation', message: 'Refused.' } },
    'Ark: halt': { type: 'cancelled' },
    'Ark: delay': { type: 'expired' },
  };
  for (const [prompt, expected] of Object.entries(ends)) {
    test(prompt, async () => assert.deepEqual((await drivers.byteplus().make(ask(prompt))).end, expected));
  }

  test('what is no longer queued is not deleted', async () => {
    const { api } = drivers.byteplus();
    assert.equal(api.cancel?.({ id: 'cgt-1' }).method, 'GET');
  });
});

describe('fal', () => {
  const request = ask('a kite', { model: 'fal-ai/veo3.1/fast', duration: 8 });

  test('queued, running, done: the result is fetched', async () => {
    const { states, end } = await drivers.fal().make(request);
    assert.ok(states.includes('running'));
    assert.deepEqual(end, { type: 'completed', assets: [{ url: URL_OF_VIDEO, mime: 'video/mp4' }] });
  });

  test('cancelled', async () => {
    const fal = drivers.fal();
    const submitted = await fal.submit(request);
    assert.ok(submitted.type === 'accepted');
    assert.deepEqual(await fal.cancel(submitted.ref), { type: 'accepted' });
    assert.deepEqual((await fal.follow(submitted.ref)).end, { type: 'cancelled' });
  });
});
