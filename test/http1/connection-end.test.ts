/** Progress of what is written to a client: how much of it is out, and when it is too little. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { WriteProgress } from '../../src/http1/connection-end.ts';

const CHECK_MS = 5_000;
const MINUTE_MS = 60_000;

/** The time at which a client is stalled that has taken so many bytes at each time; undefined where it never is. */
function stalledAt(taken: (now: number) => number | undefined, until = 30 * MINUTE_MS): number | undefined {
  const progress = new WriteProgress();
  for (let now = 0; now <= until; now += CHECK_MS) {
    const bytes = taken(now);
    const queue = 1e9 - (bytes ?? 0);
    const socket = {
      ...{ readableEnded: false, writableLength: bytes === undefined ? 0 : queue, bytesWritten: 1e9 },
      _handle: { bytesWritten: 1e9, writeQueueSize: bytes === undefined ? 0 : queue },
    };
    if (progress.isStalled(socket as unknown as Socket, { now, isServerClosing: false })) return now;
  }
  return undefined;
}

test('a client that takes nothing has five minutes', () => {
  assert.equal(
    stalledAt(() => 0),
    5 * MINUTE_MS,
  );
  assert.equal(
    stalledAt((now) => Math.min(now, 2 * MINUTE_MS) * 100),
    7 * MINUTE_MS,
  );
});

test('a client that takes a byte now and then has no more', () => {
  assert.equal(
    stalledAt((now) => Math.floor(now / 1000)),
    5 * MINUTE_MS,
  );
  assert.equal(
    stalledAt((now) => now * 4),
    5 * MINUTE_MS,
  );
});

test('a client that takes 4 KiB a second on the average of five minutes goes on', () => {
  assert.equal(
    stalledAt((now) => now * 4.096),
    undefined,
  );
  assert.equal(
    stalledAt((now) => Math.floor(now / (4 * MINUTE_MS)) * 2_500_000),
    undefined,
  );
});

test('time in which nothing waits does not count', () => {
  assert.equal(
    stalledAt((now) => (now % (4 * MINUTE_MS) === 0 ? undefined : 0)),
    undefined,
  );
  assert.equal(
    stalledAt(() => undefined),
    undefined,
  );
});
