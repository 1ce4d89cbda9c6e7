/** The first member at a path stands where it stands among all of them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { everySpanAt, firstSpanAt } from '../../src/core/json/spans.ts';

const PATHS = [['model'], ['response', 'model']];

test('the first member at one of two paths, in any object', () => {
  const names = fc.constantFrom('model', 'response', 'a', 'b "model"', 'é');
  const inner = fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true });
  const objects = fc.dictionary(names, fc.oneof(inner, fc.jsonValue({ maxDepth: 2 })), { noNullPrototype: true });
  fc.assert(
    fc.property(objects, fc.constantFrom(0, 2), (object, space) => {
      const bytes = Buffer.from(JSON.stringify(object, null, space));
      assert.deepEqual(firstSpanAt(bytes, PATHS), everySpanAt(bytes, PATHS)[0]);
    }),
  );
});

test('text that is no object, or breaks off, has none', () => {
  for (const text of ['', '[]', '"model"', '{', '{"a"', '{"a":', '{"a":1', '{"a" 1,"model":2}', '{a:1}'])
    assert.equal(firstSpanAt(Buffer.from(text), PATHS), undefined, text);
});
