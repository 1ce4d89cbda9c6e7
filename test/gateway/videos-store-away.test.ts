/** While the store cannot be written to, no task is promised, and who looks at one waits instead of being refused. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { startTestGateway } from './harness.ts';
import { VIDEO, videoClient } from './video-client.ts';

test('a locked store: creation answers 503 with Retry-After, and works again afterwards', async (context) => {
  const gateway = await startTestGateway('', { lockTimeoutMs: 500 });
  context.after(() => gateway.close());
  const client = videoClient(gateway);
  const { id } = await client.create({ prompt: 'hang' });
  const other = new DatabaseSync(join(gateway.folder, 'state.db'), { timeout: 2000 });
  other.exec('BEGIN IMMEDIATE');

  const creation = client.send('POST', '/v1/videos', VIDEO, { 'idempotency-key': 'while-away' });
  const look = client.send('GET', `/v1/videos/${id}`);
  const refused = await creation;
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'service_unavailable']);
  assert.ok(Number(refused.headers.get('retry-after')) >= 1);
  other.exec('ROLLBACK');
  other.close();

  assert.equal((await look).status, 200);
  const accepted = await client.send('POST', '/v1/videos', VIDEO, { 'idempotency-key': 'while-away' });
  assert.equal(accepted.status, 202);
  assert.equal(accepted.headers.get('idempotent-replayed'), null);
});
