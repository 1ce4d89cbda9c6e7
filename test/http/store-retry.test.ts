/** Retry of store reads: waits while the store is unavailable. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../src/core/clock.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { createReadRetry } from '../../src/http/store-retry.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createManualClock } from '../jobs/manual-clock.ts';

const RETRY_INTERVAL_MS = 250;

/** A clock that moves to the next retry as soon as one is waited for. */
function movingClock(): Clock {
  const clock = createManualClock(0);
  return {
    ...clock,
    after(milliseconds, callback) {
      const cancel = clock.after(milliseconds, callback);
      setImmediate(clock.advance, RETRY_INTERVAL_MS);
      return cancel;
    },
  };
}

test('a read is retried until the store is available', async () => {
  let tries = 0;
  const retryRead = createReadRetry(movingClock(), 5000);
  const result = await retryRead(async () => {
    if (++tries < 3) throw new StoreUnavailable('the disk is full');
    return 'read';
  });
  assert.deepEqual([result, tries], ['read', 3]);
});

test('a read fails after the timeout, and at once with any other error', async () => {
  const retryRead = createReadRetry(movingClock(), 300);
  let reads = 0;
  const away = async () => {
    reads++;
    throw new StoreUnavailable('gone');
  };
  await assert.rejects(retryRead(away), { code: 'unavailable' });
  assert.equal(reads, 2);
  let tries = 0;
  const wrong = async () => {
    tries++;
    throw new GatewayError('video_not_found', 'no');
  };
  await assert.rejects(retryRead(wrong), { code: 'video_not_found' });
  assert.equal(tries, 1);
});
