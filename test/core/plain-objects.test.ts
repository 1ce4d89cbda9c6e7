/** Tables know their own names and nothing else. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookUp } from '../../src/core/plain-objects.ts';

test('a known name is found', () => assert.equal(lookUp({ stop: 'end' }, 'stop'), 'end'));

for (const name of ['go', 'constructor', 'toString', '__proto__', '', undefined, null, 0]) {
  test(`an unknown name is not found: ${JSON.stringify(name)}`, () =>
    assert.equal(lookUp({ stop: 'end' }, name), undefined));
}
