import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAtLeast, version } from '../../src/core/version.ts';

test('versions are compared by their three numbers', () => {
  const cases: [version: string, bound: string, isAtLeast: boolean][] = [
    ['0.1.0', '0.1.0', true],
    ['0.1.1', '0.1.0', true],
    ['0.10.0', '0.9.9', true],
    ['1.0.0', '0.9.9', true],
    ['0.1.0', '0.1.1', false],
    ['0.9.9', '0.10.0', false],
    ['0.9.9', '1.0.0', false],
    ['0.2.0-rc.1', '0.2.0', true],
    ['0.2.0+build', '0.2.1', false],
  ];
  for (const [one, bound, expected] of cases) assert.equal(isAtLeast(one, bound), expected, `${one} and ${bound}`);
  assert.ok(isAtLeast(version, version));
});
