/** Retry of store reads: waits while the store is unavailable. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import { createReadRetry } from '../../src/http/store-retry.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';

test('a read is retried until the store is available', async () => {
  let tries = 0;
  const retryRead = createReadRetry(5000);
  const result = await retryRead(async () => {
    if (++tries < 3) throw new StoreUnavailable('the disk is full');
    return 'read';
  });
  assert.deepEqual([result, tries], ['read', 3]);
});

test('a read fails after the timeout, and at once with any other error', async () => {
  const retryRead = createReadRetry(300);
  const away = async () => {
    throw new StoreUnavailable('gone');
  };
  await assert.rejects(retryRead(away), { code: 'unavailable' });
  let tries = 0;
  const wrong = async () => {
    tries++;
    throw new GatewayError('video_not_found', 'no');
  };
  await assert.rejects(retryRead(wrong), { code: 'video_not_found' });
  assert.equal(tries, 1);
});
