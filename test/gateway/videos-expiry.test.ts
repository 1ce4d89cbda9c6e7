/** A video that was kept as long as it was to be kept is gone, and says so. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from './harness.ts';
import { createVideoClock, eventually, videoClient } from './video-client.ts';

const SECOND = 1000;
const DAY = 86_400 * SECOND;

test('a video answers 410 from the moment it expires', async (context) => {
  const clock = createVideoClock();
  const gateway = await startTestGateway('videos: { url_lifetime: 7d }', { clock });
  context.after(() => gateway.close());
  const client = videoClient(gateway);
  const { id } = await client.create();
  const content = (method = 'GET') => client.send(method, `/v1/videos/${id}/content`);
  const task = await client.until(id, 'completed');
  assert.equal((await content()).status, 200);

  clock.advance(7 * DAY + 2 * SECOND);
  let erased = task;
  await eventually(gateway, async () => {
    erased = (await client.send('GET', `/v1/videos/${id}`)).body;
    return erased.mirror_urls.length === 0;
  });
  assert.deepEqual([erased.status, erased.expires_at], ['completed', undefined]);
  for (const method of ['GET', 'HEAD']) assert.equal((await content(method)).status, 410, method);
  assert.equal((await content()).body.error.code, 'video_content_expired');
  assert.equal((await client.send('GET', task.mirror_urls[0])).status, 410);
});
