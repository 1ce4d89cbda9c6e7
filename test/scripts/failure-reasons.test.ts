/** The reasons of failures at the end of a test run. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
// @ts-expect-error A script without types.
import { createFailureReasons, diskWarning } from '../../scripts/failure-reasons.mjs';

test('reasons are counted without their numbers, the most frequent first, each failure once', () => {
  const reasons = createFailureReasons();
  for (const line of [
    '✖ a test (12ms)',
    '  Error: seen while it ran',
    '✖ failing tests:',
    'test at test/a.test.ts:1:1',
    '  error: could not extend file "base/16384/2619": No space left on device',
    '  AssertionError [ERR_ASSERTION]: 808 files of the project',
    '  error: could not extend file "base/17/99": No space left on device',
    "    code: 'ERR_ASSERTION',",
    '▶ the next run',
    '  Error: seen while it ran',
  ])
    reasons.read(line);
  assert.deepEqual(reasons.lines(), [
    '    2 x error: could not extend file "base/N/N": No space left on device',
    '    1 x AssertionError [ERR_ASSERTION]: N files of the project',
  ]);
});

test('little free disk is told', () => {
  assert.equal(diskWarning(undefined, 0), undefined);
  assert.match(diskWarning(undefined, Number.POSITIVE_INFINITY), /^Only [\d.]+ GB of disk are free at \//);
});
