/** The sandbox's video model as the task machine meets it: the adapter over the local upstream, with a clock of ours. */

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { LocalUpstream } from '../../../src/core/provider.ts';
import type { PollResult, VideoCall, VideoRef, VideoRequest, VideoResponse } from '../../../src/core/video.ts';
import { createSandboxUpstream } from '../../../src/providers/sandbox/upstream.ts';
import { decodeId } from '../../../src/providers/sandbox/video/task.ts';
import { sandboxVideo } from '../../../src/providers/sandbox/video/wire.ts';
import { readMovie } from './mp4.ts';

let now = 0;
let local: LocalUpstream;

function restart(): void {
  local = createSandboxUpstream({ now: () => now, wait: async () => {} });
}

beforeEach(() => {
  now = 1_795_000_000_000;
  restart();
});

const signal = new AbortController().signal;

async function send(method: string, path: string, body?: unknown): Promise<{ status: number; bytes: Buffer }> {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
  const response = await local({ method, path, body: bytes, signal });
  const received = Buffer.concat(await Array.fromAsync(response.body));
  assert.equal(Number(response.headers['content-length'] ?? received.length), received.length);
  return { status: response.status, bytes: received };
}

async function call<Result>({ method, path, body, read }: VideoCall<Result>): Promise<Result> {
  const { status, bytes } = await send(method, path, body);
  const response: VideoResponse = { status, headers: {}, body: JSON.parse(bytes.toString()) };
  return read(response);
}

function request(fields: Partial<VideoRequest>): VideoRequest {
  return { model: 'video', prompt: 'a red kite', frames: [], references: [], count: 1, ...fields };
}

async function create(fields: Partial<VideoRequest> = {}): Promise<VideoRef> {
  const result = await call(sandboxVideo.submit(request(fields), { attemptId: 'a1' }));
  assert.equal(result.type, 'accepted');
  return result.type === 'accepted' ? result.ref : undefined;
}

const poll = (ref: VideoRef): Promise<PollResult> => call(sandboxVideo.poll(ref));

async function filesOf(result: PollResult): Promise<Buffer[]> {
  assert.equal(result.type, 'completed');
  const assets = result.type === 'completed' ? result.assets : [];
  return Promise.all(assets.map(async (asset) => (await send('GET', 'path' in asset ? asset.path : '')).bytes));
}

describe('a task', () => {
  test('that was made before the clock was set back by years is completed, not by a clock that is a little behind', async () => {
    const ref = await create();
    now -= 30_000;
    assert.equal((await poll(ref)).type, 'queued');
    now = 3_600_000;
    assert.equal((await poll(ref)).type, 'completed');
  });

  test('is queued, makes progress and is completed after three seconds', async () => {
    const ref = await create({ duration: 2 });
    assert.deepEqual(await poll(ref), { type: 'queued' });
    now += 1500;
    assert.deepEqual(await poll(ref), { type: 'running', progress: 50 });
    now += 1499;
    assert.deepEqual(await poll(ref), { type: 'running', progress: 99 });
    now += 1;
    const result = await poll(ref);
    const path = `/videos/${ref}/content/0`;
    assert.deepEqual(result, { type: 'completed', assets: [{ path, mime: 'video/mp4' }], seconds: 2, cost: '0' });
  });

  test('outlives a restart', async () => {
    const ref = await create();
    now += 3000;
    restart();
    assert.equal((await poll(ref)).type, 'completed');
  });

  for (const [fields, size] of [
    [{}, '1280x720'],
    [{ resolution: '480p' }, '854x480'],
    [{ resolution: '1080p', aspectRatio: '9:16' }, '1080x1920'],
    [{ aspectRatio: '1:1' }, '720x720'],
    [{ size: '480x854' }, '480x854'],
  ] as const)
    test(`of ${JSON.stringify(fields)} makes a video of ${size}`, async () => {
      const ref = await create({ ...fields, duration: 1 });
      now += 3000;
      const [file = Buffer.alloc(0)] = await filesOf(await poll(ref));
      const { width, height, seconds } = readMovie(file);
      assert.deepEqual([`${width}x${height}`, seconds], [size, 1]);
    });

  test('of several videos counts the seconds of all', async () => {
    const ref = await create({ count: 3, duration: 2 });
    now += 3000;
    const result = await poll(ref);
    assert.equal(result.type === 'completed' && result.seconds, 6);
    const files = await filesOf(result);
    assert.deepEqual(
      files.map((file) => readMovie(file).seconds),
      [2, 2, 2],
    );
    assert.equal((await send('GET', `/videos/${ref}/content`)).bytes.equals(files[0] ?? Buffer.alloc(0)), true);
    assert.equal((await send('GET', `/videos/${ref}/content/3`)).status, 404);
  });

  test('with the same prompt or seed shows the same', async () => {
    const refs = [await create(), await create(), await create({ seed: 5, prompt: 'a' }), await create({ seed: 5 })];
    now += 3000;
    const [one, two, three, four] = await Promise.all(refs.map(async (ref) => (await filesOf(await poll(ref)))[0]));
    assert.ok(one?.equals(two ?? one.subarray(1)));
    assert.ok(three?.equals(four ?? three.subarray(1)));
  });

  test('has no content before the end', async () => {
    const ref = await create();
    assert.equal((await send('GET', `/videos/${ref}/content`)).status, 409);
  });
});

describe('words in the prompt', () => {
  for (const prompt of ['fail', 'please FAIL now', 'Fail.'])
    test(`"${prompt}" fails with a message`, async () => {
      const ref = await create({ prompt });
      now += 2999;
      assert.equal((await poll(ref)).type, 'running');
      now += 1;
      const error = { code: 'upstream_error', message: 'The sandbox fails, as asked.' };
      assert.deepEqual(await poll(ref), { type: 'failed', error, cost: '0' });
    });

  test('"hang" never ends', async () => {
    const ref = await create({ prompt: 'let it hang' });
    now += 10 * 24 * 3_600_000;
    assert.deepEqual(await poll(ref), { type: 'running', progress: 50 });
  });

  test('"expire" expires', async () => {
    const ref = await create({ prompt: 'expire, my friend' });
    now += 3000;
    assert.deepEqual(await poll(ref), { type: 'expired', cost: '0' });
  });

  test('count only as whole words', async () => {
    const ref = await create({ prompt: 'a failing hangar has expired' });
    now += 3000;
    assert.equal((await poll(ref)).type, 'completed');
  });
});

describe('cancelling', () => {
  const cancel = (ref: VideoRef) => {
    const built = sandboxVideo.cancel?.(ref);
    assert.ok(built);
    return call(built);
  };

  test('works until the end, for one task only', async () => {
    const [one, other] = [await create({ prompt: 'hang' }), await create({ prompt: 'hang', seed: 1 })];
    now += 1000;
    assert.deepEqual(await cancel(one), { type: 'accepted' });
    assert.deepEqual(await cancel(one), { type: 'accepted' });
    now += 9000;
    assert.deepEqual(await poll(one), { type: 'cancelled', cost: '0' });
    assert.equal((await poll(other)).type, 'running');
    assert.equal((await send('DELETE', `/videos/${other}`)).status, 200);
    assert.equal((await poll(other)).type, 'cancelled');
  });

  test('comes too late after the end', async () => {
    const ref = await create();
    now += 3000;
    assert.deepEqual(await cancel(ref), { type: 'too-late' });
    assert.equal((await poll(ref)).type, 'completed');
  });
});

describe('a submission whose response was lost', () => {
  test('is found by making it again', async () => {
    const built = sandboxVideo.find?.({
      attemptId: 'a1',
      request: request({ duration: 5 }),
      sentAt: now / 1000,
      otherRefs: [],
    });
    assert.ok(built);
    const found = await call(built);
    assert.equal(found.type, 'found');
    assert.equal(found.type === 'found' && decodeId(found.ref)?.seconds, 5);
  });
});

describe('refusals', () => {
  for (const [fields, message] of [
    [{ duration: 11 }, /^seconds must be an integer between 1 and 10/],
    [{ size: '1x1' }, /^size must be one of /],
    [{ count: 5 }, /^n must be an integer between 1 and 4/],
    [{ model: 'echo' }, /^model must be/],
  ] as const)
    test(`of ${JSON.stringify(fields)}`, async () => {
      const result = await call(sandboxVideo.submit(request(fields), { attemptId: 'a1' }));
      assert.equal(result.type, 'rejected');
      if (result.type !== 'rejected') return;
      assert.deepEqual([result.error.code, result.retryable], ['invalid_input', false]);
      assert.match(result.error.message, message);
    });

  test('of ids that are none', async () => {
    const forged = (fields: object) => `video_${Buffer.from(JSON.stringify(fields)).toString('base64url')}`;
    const whole = decodeId(await create());
    for (const id of ['nonsense', 'video_', 'video_!', forged({}), forged({ ...whole, seconds: 1e9 }), forged([])])
      assert.equal((await send('GET', `/videos/${id}`)).status, 404, id);
    assert.equal((await send('GET', `/videos/${forged({ ...whole })}`)).status, 200);
  });

  test('of paths and methods that are none', async () => {
    const ref = await create();
    for (const [method, path] of [
      ['GET', '/videos'],
      ['POST', `/videos/${ref}`],
      ['POST', `/videos/${ref}/content`],
      ['GET', `/videos/${ref}/cancel`],
    ] as const)
      assert.equal((await send(method, path)).status, 404, path);
    assert.equal((await send('POST', '/videos')).status, 400);
  });
});
