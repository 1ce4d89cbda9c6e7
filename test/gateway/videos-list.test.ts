/** Lists of video tasks, the public list of their makers, and how often one may look. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { startTestGateway, type TestGateway } from './harness.ts';
import { type VideoClient, videoClient } from './video-client.ts';

let gateway: TestGateway;
let client: VideoClient;
/** Oldest first. */
const ids: string[] = [];

before(async () => {
  gateway = await startTestGateway();
  client = videoClient(gateway);
  for (let index = 0; index < 5; index++) ids.push((await client.create({ prompt: `hang ${index}` })).id);
  await client.send('POST', `/v1/videos/${ids[0]}/cancel`);
  await client.until(ids[0] ?? '', 'cancelled');
});
after(() => gateway.close());

async function list(query: string): Promise<Json> {
  const { status, body } = await client.send('GET', `/v1/videos?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return { ...body, data: body.data.map(({ id }: Json) => id) };
}

describe('GET /v1/videos', () => {
  test('has the newest first, page by page', async () => {
    const [a, b, c, d, e] = ids;
    assert.deepEqual(await list('limit=2'), { object: 'list', data: [e, d], first_id: e, last_id: d, has_more: true });
    assert.deepEqual(await list(`limit=2&after=${d}`), {
      object: 'list',
      data: [c, b],
      first_id: c,
      last_id: b,
      has_more: true,
    });
    assert.deepEqual(await list(`limit=2&after=${b}`), {
      object: 'list',
      data: [a],
      first_id: a,
      last_id: a,
      has_more: false,
    });
    assert.deepEqual((await list(`order=asc&limit=2&after=${a}`)).data, [b, c]);
    assert.deepEqual((await list('limit=5')).has_more, false);
  });

  test('can be asked for a status and a model', async () => {
    assert.deepEqual((await list('status=cancelled')).data, [ids[0]]);
    assert.equal((await list('model=sandbox/video')).data.length, 5);
    assert.deepEqual(await list('model=other/model'), { object: 'list', data: [], has_more: false });
  });

  test('has whole tasks', async () => {
    const { body } = await client.send('GET', '/v1/videos?status=cancelled');
    assert.deepEqual(body.data[0], (await client.send('GET', `/v1/videos/${ids[0]}`)).body);
  });

  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=ten', 'limit'],
    ['order=newest', 'order'],
    ['status=done', 'status'],
    ['after=video_1', 'after'],
    ['after=0b9e6c1e-0000-4000-8000-000000000000', 'after'],
  ]) {
    test(`refuses ${query}`, async () => {
      const { status, body } = await client.send('GET', `/v1/videos?${query}`);
      assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_request', param]);
    });
  }
});

test('GET /v1/videos/models has what each model can make, for anyone', async () => {
  const { body } = await videoClient(gateway, '').send('GET', '/v1/videos/models');
  const model = body.data.find(({ id }: Json) => id === 'sandbox/video');
  assert.deepEqual(model.supported_durations, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual(model.supported_frame_images, ['first_frame', 'last_frame']);
  assert.equal(model.seed, true);
  assert.deepEqual(model.pricing_skus, { 'per-video-second': '0' });
  assert.ok(!body.data.some(({ id }: Json) => id === 'sandbox/echo'));
});

test('who looks all the time is told to wait; another task, and a look every half second, are not', async () => {
  const [one = '', other = ''] = ids.slice(1);
  let refusal: Awaited<ReturnType<VideoClient['send']>> | undefined;
  for (let look = 0; look < 40 && !refusal; look++) {
    const response = await client.send('GET', `/v1/videos/${one}`);
    if (response.status !== 200) refusal = response;
  }
  assert.ok(refusal);
  assert.equal(refusal.status, 429);
  assert.equal(refusal.body.error.code, 'rate_limit_exceeded');
  assert.ok(Number(refusal.headers.get('retry-after')) >= 1);
  assert.equal((await client.send('GET', `/v1/videos/${other}`)).status, 200);
});
