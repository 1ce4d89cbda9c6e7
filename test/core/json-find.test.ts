/** A member that is found in slices stands where it is found at once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findSpan } from '../../src/core/json/find.ts';
import { spanAt } from '../../src/core/json/json.ts';

const value = fc.jsonValue({ maxDepth: 3 });

test('a member is found in any object', async () => {
  const objects = fc.dictionary(fc.constantFrom('model', 'a', 'b"\\', 'é'), value, { noNullPrototype: true });
  await fc.assert(
    fc.asyncProperty(
      objects,
      fc.constantFrom(0, 2),
      fc.array(fc.constantFrom('model', 'a', 'b"\\')),
      async (object, space, path) => {
        const bytes = Buffer.from(JSON.stringify(object, null, space));
        const wanted = path.length === 0 ? ['model'] : path;
        assert.deepEqual(await findSpan(bytes, wanted), spanAt(bytes, wanted));
      },
    ),
  );
});

test('a member is found after a value of several slices', async () => {
  for (const large of [
    `[${'1,'.repeat(2_000_000)}1]`,
    `"${'\\"'.repeat(1_000_000)}"`,
    `{"x":[${'"ab",'.repeat(500_000)}0]}`,
  ]) {
    const bytes = Buffer.from(`{"x":${large},"model":"m"}`);
    assert.deepEqual(await findSpan(bytes, ['model']), spanAt(bytes, ['model']));
  }
});

test('no member is found in truncated text or outside an object', async () => {
  for (const text of ['', '[]', '{', '{"model"', '{"model":', '{"x":[1,2', '1']) {
    assert.equal(await findSpan(Buffer.from(text), ['model', 'x']), undefined, text);
  }
});
