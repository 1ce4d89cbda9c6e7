/** Cancelling where the provider cannot, and giving the result up. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { answerJson, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { type VideoClient, videoClient } from './video-client.ts';

const TASK = { model: 'xai/grok-imagine-video', prompt: 'a cat', duration: 1, resolution: '480p' };

let upstream: TestUpstream;
let gateway: TestGateway;
let client: VideoClient;

before(async () => {
  upstream = await startUpstream(({ method }, response) => {
    if (method === 'POST') answerJson(response, { request_id: 'r-1' });
    else answerJson(response, { status: 'pending', progress: 10 }, 202);
  });
  gateway = await startTestGateway(`providers: { xai: { api_key: k, base_url: "${upstream.url}/v1" } }`);
  client = videoClient(gateway);
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** Handed to the provider. */
async function begun(): Promise<string> {
  const calls = upstream.calls.length;
  const { id } = await client.create(TASK);
  while (upstream.calls.length === calls) await new Promise((resolve) => setTimeout(resolve, 20));
  await upstream.calls[calls]?.closed;
  return id;
}

describe('a task that its provider cannot cancel', () => {
  test('goes on, unless its owner gives the result up', async () => {
    const id = await begun();
    const refusal = await client.send('POST', `/v1/videos/${id}/cancel`);
    assert.deepEqual([refusal.status, refusal.body.error.code], [409, 'cancel_not_possible']);
    assert.match(refusal.body.error.message, /cannot cancel.*abandon/);
    assert.equal(refusal.headers.get('x-should-retry'), 'false');
    assert.equal(refusal.headers.get('retry-after'), null);

    const { status, body } = await client.send('POST', `/v1/videos/${id}/cancel`, { abandon: true });
    assert.deepEqual([status, body.status, body.error_code], [200, 'cancelled', 'abandoned']);
    assert.deepEqual(body.usage, { video_seconds: 0, video_cost: '0', cost: 0 });
    assert.deepEqual((await client.send('GET', `/v1/videos/${id}`)).body, body);
  });
});

test('what the provider would refuse is refused before anything is stored', async () => {
  const video = { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } };
  const { status, body } = await client.send('POST', '/v1/videos', { ...TASK, input_references: [video] });
  assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_request', 'duration']);
  assert.deepEqual((await client.send('GET', '/v1/videos?status=queued')).body.data, []);
});
