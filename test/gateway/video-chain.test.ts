/** A gateway as the upstream of another: the adapters for three kinds of servers against our own video endpoints. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { VideoRequest } from '../../src/core/video.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { VideoDriver } from '../clients/video-driver.ts';
import { KEY, startTestGateway, type TestGateway } from './harness.ts';
import { createVideoClock, passTime } from './video-client.ts';

let inner: TestGateway;
before(async () => {
  inner = await startTestGateway('', { clock: createVideoClock() });
});
after(() => inner.close());

function driver(type: string): VideoDriver {
  const provider = providerTypes.get(type)?.create({ id: type, baseUrl: `${inner.url}/v1` });
  assert.ok(provider);
  return new VideoDriver(provider, { key: KEY, pause: () => passTime(inner) });
}

function ask(fields: Partial<VideoRequest> = {}): VideoRequest {
  return {
    model: 'sandbox/video',
    prompt: 'A paper boat',
    duration: 1,
    frames: [],
    references: [],
    count: 1,
    ...fields,
  };
}

describe('a gateway behind a gateway', { concurrency: true }, () => {
  for (const type of ['polygate', 'openai-compatible', 'openrouter']) {
    test(`${type}: a video is made and fetched with the key only`, async () => {
      const there = driver(type);
      const { end } = await there.make(ask({ resolution: '480p', aspectRatio: '16:9', seed: 7 }));
      assert.ok(end.type === 'completed', JSON.stringify(end));
      const [asset] = end.assets;
      assert.ok(asset && 'path' in asset);
      const fetched = await there.fetch(asset.path);
      assert.equal(fetched.status, 200);
      assert.equal(Buffer.from(await fetched.arrayBuffer()).toString('latin1', 4, 8), 'ftyp');
      assert.equal((await there.fetch(asset.path, 'sk-wrong')).status, 401);
      assert.match(end.cost ?? '', /^\d/);
    });

    test(`${type}: what cannot be made is refused with its reason`, async () => {
      const result = await driver(type).submit(ask({ duration: 999 }));
      assert.ok(result.type === 'rejected');
      assert.equal(result.error.code, 'invalid_input');
      assert.match(result.error.message, /999/);
    });
  }

  test('polygate: a submission that is repeated makes one task', async () => {
    const there = driver('polygate');
    const request = ask({ prompt: 'Twice' });
    const [one, other] = [await there.submit(request), await there.submit(request)];
    assert.ok(one.type === 'accepted' && other.type === 'accepted');
    assert.deepEqual(one.ref, other.ref);
  });

  test('polygate: a lost submission is found by its prompt', async () => {
    const there = driver('polygate');
    const sentAt = Math.floor((inner.clock?.now() ?? 0) / 1000);
    const request = ask({ prompt: 'A lost balloon' });
    assert.deepEqual(await there.find({ attemptId: 'x', request, sentAt, otherRefs: [] }), { type: 'none' });
    const made = await there.submit({ ...request });
    assert.ok(made.type === 'accepted');
    assert.deepEqual(await there.find({ attemptId: 'x', request, sentAt, otherRefs: [] }), {
      type: 'found',
      ref: made.ref,
    });
  });

  test('polygate: cancelled', async () => {
    const there = driver('polygate');
    const made = await there.submit(ask({ prompt: 'hang on' }));
    assert.ok(made.type === 'accepted');
    assert.deepEqual(await there.cancel(made.ref), { type: 'accepted' });
    assert.deepEqual((await there.follow(made.ref)).end.type, 'cancelled');
  });
});
