/** A video that was kept as long as it was to be kept is gone, and says so. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createManualClock } from '../jobs/manual-clock.ts';
import { startTestGateway } from './harness.ts';
import { type VideoClient, videoClient } from './video-client.ts';

const SECOND = 1000;
const DAY = 86_400 * SECOND;

async function waitFor(client: VideoClient, id: string, step: () => void, isDone: (task: object) => boolean) {
  for (;;) {
    const { body } = await client.send('GET', `/v1/videos/${id}`);
    if (isDone(body)) return body;
    step();
    await pause(300);
  }
}

test('a video answers 410 from the moment it expires', async (context) => {
  const clock = createManualClock(Date.now());
  const gateway = await startTestGateway('videos: { url_lifetime: 7d }', { clock });
  context.after(() => gateway.close());
  const client = videoClient(gateway);
  const { id } = await client.create();
  const content = (method = 'GET') => client.send(method, `/v1/videos/${id}/content`);
  const isCompleted = (task: { status?: string }) => task.status === 'completed';
  const task = await waitFor(client, id, () => clock.advance(SECOND), isCompleted);
  assert.equal((await content()).status, 200);

  clock.advance(7 * DAY + 2 * SECOND);
  const isErased = (seen: { mirror_urls?: string[] }) => seen.mirror_urls?.length === 0;
  const erased = await waitFor(client, id, () => clock.advance(SECOND), isErased);
  assert.deepEqual([erased.status, erased.expires_at], ['completed', undefined]);
  for (const method of ['GET', 'HEAD']) assert.equal((await content(method)).status, 410, method);
  assert.equal((await content()).body.error.code, 'video_content_expired');
  assert.equal((await client.send('GET', task.mirror_urls[0])).status, 410);
});
