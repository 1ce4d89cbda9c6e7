/** Members set in JSON text: the value they belong to changes, and no other byte. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { setMembers } from '../../src/core/json/members.ts';

function set(text: string, ...changes: Parameters<typeof setMembers>[2]): string {
  return setMembers(Buffer.from(text), ['usage'], changes).toString();
}

const cost = { path: ['cost'], value: 0.5 };

test('a member is added at the end, and replaced where it stands', () => {
  assert.equal(set('{"usage" : { "a":1 }, "b":[1.0]}', cost), '{"usage" : { "a":1 ,"cost":0.5}, "b":[1.0]}');
  assert.equal(set('{"usage":{}}', cost), '{"usage":{"cost":0.5}}');
  assert.equal(set('{"usage":{"cost" : null,"a":1e0}}', cost), '{"usage":{"cost" : 0.5,"a":1e0}}');
  const nested = { path: ['details', 'n'], value: 1 };
  assert.equal(set('{"usage":{"details":{"m":"}"}}}', nested), '{"usage":{"details":{"m":"}","n":1}}}');
});

test('text without the object is unchanged', () => {
  for (const text of ['{}', '{"usage":null}', '{"usage":[1]}', '{"other":{"usage":{}}}']) {
    assert.equal(set(text, cost), text);
  }
  const nested = { path: ['details', 'n'], value: 1 };
  assert.equal(set('{"usage":{"details":null}}', nested), '{"usage":{"details":null}}');
});

test('the parsed text equals the original with the member set', () => {
  const body = fc.record({
    before: fc.jsonValue(),
    usage: fc.dictionary(fc.string(), fc.jsonValue()),
    after: fc.jsonValue(),
  });
  fc.assert(
    fc.property(body, fc.jsonValue(), fc.constantFrom(undefined, 2), (value, member, space) => {
      const text = JSON.stringify(value, null, space);
      const changed = JSON.parse(set(text, { path: ['cost'], value: member }));
      const { usage, ...others } = JSON.parse(text);
      assert.deepEqual(changed, { ...others, usage: { ...usage, cost: JSON.parse(JSON.stringify(member)) } });
    }),
  );
});
