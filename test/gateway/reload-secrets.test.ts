/** A secret that changes is noticed at a reload, although no two of them look different in a log. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestGateway } from './harness.ts';

test('another secret for callbacks needs a restart, the same one does not', async (context) => {
  const secret = (end: string) => `callbacks: { secret: "a-secret-for-callbacks-of-the-tests-${end}" }`;
  const gateway = await startTestGateway(secret('one'));
  context.after(() => gateway.close());
  assert.deepEqual(gateway.reload(secret('one')), []);
  assert.deepEqual(gateway.reload(secret('two')), ['callbacks']);
  assert.equal(JSON.stringify(gateway.log).includes('of-the-tests'), false);
});
