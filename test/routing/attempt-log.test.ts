/** Log of attempts: counts by spans of time, and limits from headers. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AttemptCounts, createAttemptLog } from '../../src/routing/attempt-log.ts';

function clock() {
  let moment = 0;
  return {
    now: () => moment,
    pass: (milliseconds: number) => {
      moment += milliseconds;
    },
  };
}

/** All attempts, and those that failed. */
function sumOf(counts: readonly AttemptCounts[]): number[] {
  return [counts.reduce((sum, { attempts }) => sum + attempts, 0), counts.reduce((sum, { failed }) => sum + failed, 0)];
}

describe('the log of attempts', () => {
  const MINUTE_MS = 60_000;

  test('counts minutes and half hours that pass, and forgets those of the day before', () => {
    const { now, pass } = clock();
    const log = createAttemptLog(now);
    assert.equal(log.history('a'), undefined);
    log.count('a', 'timeout');
    pass(6 * MINUTE_MS);
    for (let count = 0; count < 4; count++) log.count('a');
    const sums = () => {
      const { minutes = [], halfHours = [] } = log.history('a') ?? {};
      return [minutes.slice(-5), minutes, halfHours].map(sumOf);
    };
    assert.deepEqual(sums(), [[4, 0], [5, 1], [5, 1]]); // biome-ignore format: A row of sums.
    assert.deepEqual(log.history('a')?.lastFailures, [{ code: 'timeout', millisecondsAgo: 6 * MINUTE_MS }]);
    pass(61 * MINUTE_MS);
    assert.deepEqual(sums(), [[0, 0], [0, 0], [5, 1]]); // biome-ignore format: A row of sums.
    pass(22 * 60 * MINUTE_MS);
    log.count('a');
    assert.deepEqual(sums().at(-1), [6, 1]);
    pass(2 * 60 * MINUTE_MS);
    assert.deepEqual(sums().at(-1), [1, 0]);
    assert.deepEqual(log.history('a')?.lastFailures, []);
    pass(24 * 60 * MINUTE_MS);
    assert.deepEqual([log.history('a'), log.endpoints()], [undefined, []]);
  });

  test('keeps the latest five failures, newest first', () => {
    const { now, pass } = clock();
    const log = createAttemptLog(now);
    for (const code of ['timeout', 'overloaded', 'timeout', 'upstream_error', 'overloaded', 'timeout'] as const) {
      log.count('a', code);
      log.count('a');
      pass(1000);
    }
    const failures = log.history('a')?.lastFailures.map(({ code, millisecondsAgo }) => [code, millisecondsAgo]);
    assert.deepEqual(failures, [
      ['timeout', 1000],
      ['overloaded', 2000],
      ['upstream_error', 3000],
      ['timeout', 4000],
      ['overloaded', 5000],
    ]);
  });

  test('reads the limits of both forms of headers, and drops what is too long', () => {
    const log = createAttemptLog(() => 0);
    log.onResponseHeaders('a', {
      'anthropic-ratelimit-requests-remaining': '9',
      'anthropic-ratelimit-input-tokens-limit': '1000',
    });
    const kinds = log.limits('a').map(({ kind, limit, remaining }) => [kind, limit, remaining]);
    assert.deepEqual(kinds, [
      ['requests', undefined, 9],
      ['input-tokens', 1000, undefined],
    ]);
    log.onResponseHeaders('b', { 'x-ratelimit-remaining-requests': '1', 'x-ratelimit-reset-requests': 'x'.repeat(65) });
    assert.deepEqual(log.limits('b'), []);
  });

  test('the number of endpoints is bounded', () => {
    const { now, pass } = clock();
    const log = createAttemptLog(now);
    for (let count = 0; count < 10_001; count++) {
      pass(1);
      log.count(String(count));
    }
    assert.equal(log.endpoints().length, 9001);
    assert.equal(log.history('0'), undefined);
    assert.deepEqual(sumOf(log.history('10000')?.halfHours ?? []), [1, 0]);
  });
});
