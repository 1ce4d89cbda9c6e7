/** `Retry-After` headers and bearer tokens. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearerToken, parseRetryAfter, retryAfterOf } from '../../src/core/fields.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');

test('Retry-After is seconds or a date, and never in the past', () => {
  const cases: [string | undefined, number | undefined][] = [
    ['30', 30_000],
    [' 1.5 ', 1500],
    ['0', 0],
    ['0.0001', 1],
    ['Sun, 22 Nov 2026 12:00:10 GMT', 10_000],
    ['Sun, 22 Nov 2026 11:59:59 GMT', undefined],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ];
  for (const [header, expected] of cases) assert.equal(parseRetryAfter(header, NOW), expected, header);
});

test('retry-after-ms is a number of milliseconds that can be waited for', () => {
  for (const [header, expected] of [
    [' 1500 ', 1500],
    ['0.5', 0.5],
    ['0', 0],
  ] as const)
    assert.equal(retryAfterOf({ 'retry-after-ms': header }, 0), expected, header);
  for (const header of [undefined, '', 'soon', '-1', '1e400', 'Infinity', '9'.repeat(400)])
    assert.equal(retryAfterOf({ 'retry-after-ms': header }, 0), undefined, header);
});

test('a bearer token is found whatever the case of its scheme', () => {
  assert.equal(bearerToken('Bearer abc'), 'abc');
  assert.equal(bearerToken('bearer  abc '), 'abc');
  assert.equal(bearerToken('Basic abc'), undefined);
  assert.equal(bearerToken('Bearer a b'), undefined);
  assert.equal(bearerToken(undefined), undefined);
});
