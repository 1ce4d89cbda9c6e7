/** The schedule proven on ten thousand deliveries, each with all its attempts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_ATTEMPTS, maxJitter, nextAttemptAt, retryDelay } from '../../src/webhooks/schedule.ts';
import { tableRows } from '../docs/markdown.ts';

const DELIVERIES = 10_000;
const TIMEOUT = 10_000;
const DELAYS = [5, 10, 20, 40, 80, 160, 320, 600, 600, 600];

test('retry delays match the specification', () => {
  const retries = DELAYS.map((_, index) => index + 1);
  assert.deepEqual(
    retries.map((n) => retryDelay(n) / 1000),
    DELAYS,
  );
  assert.deepEqual(
    retries.map((n) => maxJitter(n) / 1000),
    [1, 1, 2, 4, 8, 16, 30, 30, 30, 30],
  );
});

test('docs/webhooks.md lists the same delays', () => {
  const rows = tableRows('docs/webhooks.md').filter(([retry]) => /^\d+$/.test(retry ?? ''));
  const seconds = (text = '') =>
    text.match(/\d+[ms]/g)?.reduce((sum, part) => sum + Number.parseInt(part, 10) * (part.endsWith('m') ? 60 : 1), 0);
  let since = 0;
  for (const [retry, delay, added, cumulative] of rows) {
    since += retryDelay(Number(retry));
    assert.deepEqual(
      [delay, added, cumulative].map(seconds),
      [retryDelay(Number(retry)), maxJitter(Number(retry)), since].map((each) => each / 1000),
    );
  }
  assert.equal(rows.length, MAX_ATTEMPTS - 1);
});

test('each delay is within its bounds, jitter is uniform, and there is never a twelfth attempt', () => {
  const random = generator(20_261_121);
  const shares: number[] = [];
  let longest = 0;
  for (let delivery = 0; delivery < DELIVERIES; delivery++) {
    let at = 1_800_000_000_000;
    const started = at;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const endedAt = at + Math.floor(random() * (TIMEOUT + 1));
      const next = nextAttemptAt({ attempt, endedAt }, random);
      if (attempt === MAX_ATTEMPTS) {
        assert.equal(next, undefined);
        longest = Math.max(longest, endedAt - started);
        break;
      }
      assert.ok(next !== undefined);
      const extra = next - endedAt - retryDelay(attempt);
      assert.ok(extra >= 0 && extra <= maxJitter(attempt), `retry ${attempt}: ${extra} ms`);
      shares.push(extra / maxJitter(attempt));
      at = next;
    }
  }
  assert.equal(shares.length, DELIVERIES * 10);
  assert.ok(longest <= (44 * 60 + 57) * 1000, `${longest} ms`);
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  assert.ok(Math.abs(mean - 0.5) < 0.01, `mean ${mean}`);
  shares.sort((one, other) => one - other);
  const distance = Math.max(
    ...[...shares.keys()]
      .filter((index) => index % 10 === 0)
      .map((index) => Math.abs((shares[index] ?? 0) - index / shares.length)),
  );
  // Kolmogorov and Smirnov at 0.1 percent, and what rounding to milliseconds adds.
  assert.ok(distance < 1.95 / Math.sqrt(shares.length) + 0.001, `distance ${distance}`);
});

test('Retry-After lengthens a delay up to ten minutes, and never shortens it', () => {
  const at = (attempt: number, retryAfter: number) => nextAttemptAt({ attempt, endedAt: 0, retryAfter }, () => 0);
  assert.deepEqual([at(1, 1_000), at(1, 60_000), at(1, 9_999_999), at(10, 1)], [5_000, 60_000, 600_000, 600_000]);
});

/** Numbers from 0 to 1, the same in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
