/** Members set in JSON text: the value they belong to changes, and no other byte. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyJson } from '../../src/core/json/copy.ts';
import { type Json, read } from '../../src/core/json/json.ts';
import { longTextAt } from '../../src/core/json/long-text.ts';
import { setMembers, writeChanges } from '../../src/core/json/members.ts';
import { readInSlices } from '../../src/core/json/slices.ts';

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

function rewrite(text: string, change: (copy: Json) => void): string {
  const body = read(text);
  const copy = copyJson(body);
  change(copy);
  return (writeChanges(Buffer.from(text), { read: body, changed: copy }) as Buffer).toString();
}

test('a changed copy is written with the bytes of the members that stayed', () => {
  const text =
    ' { "a" : 1.0, "tools" : [ {"n":12345678901234567890} ], "é\\n" :"\\u00e9", "gone":[2] , "set":{"b":1} }';
  const changed = rewrite(text, (copy) => {
    delete copy.gone;
    copy.set.b = 2;
    copy.added = true;
    copy.left = undefined;
  });
  const kept = '{"a":1.0,"tools":[ {"n":12345678901234567890} ],"é\\n":"\\u00e9"';
  assert.equal(changed, `${kept},"set":{"b":2},"added":true}`);
  assert.equal(rewrite(text, (copy) => delete copy.tools[0].n).includes('"tools":[{}]'), true);
  assert.equal(rewrite(text, (copy) => copy.tools.push(1)).includes('"tools":[{"n":12345678901234567890},1]'), true);
});

test('members that are named are written anew', () => {
  const read = { model: 'm', a: 1 };
  const written = writeChanges(Buffer.from('{"model":null,"a":1.0}'), { read, changed: read, rewritten: ['model'] });
  assert.equal(String(written), '{"model":"m","a":1.0}');
});

test('large members that changed are written in slices, and long texts that stayed are not decoded', async () => {
  const long = 'ü'.repeat(400_000);
  const text = JSON.stringify({
    input: long,
    messages: [{ content: long }],
    tools: [{ n: 'x'.repeat(600_000) }],
    a: 1,
  });
  const body = await readInSlices(Buffer.from(text), { defersTexts: true });
  const copy = copyJson(body);
  copy.a = 2;
  assert.equal(String(writeChanges(Buffer.from(text), { read: body, changed: copy })), text.replace(/1}$/, '2}'));
  assert.ok(longTextAt(copy, 'input') && longTextAt(copy.messages[0], 'content'));
  copy.tools[0].m = true;
  copy.messages[0].role = 'user';
  const written = writeChanges(Buffer.from(text), { read: body, changed: copy });
  assert.ok(written instanceof Promise);
  assert.deepEqual(JSON.parse(String(await written)), {
    ...{ input: long, messages: [{ content: long, role: 'user' }] },
    ...{ tools: [{ n: 'x'.repeat(600_000), m: true }], a: 2 },
  });
});

test('members whose names all objects have are written and left out as others', () => {
  const text = '{"constructor":1,"__proto__":{"a":1},"toString":2}';
  assert.equal(
    rewrite(text, (copy) => delete copy.constructor),
    '{"__proto__":{"a":1},"toString":2}',
  );
  assert.equal(
    rewrite(text, (copy) => Reflect.deleteProperty(Object.entries<Json>(copy)[1]?.[1], 'a')),
    '{"constructor":1,"__proto__":{},"toString":2}',
  );
  assert.equal(
    rewrite('{"a":1}', (copy) => delete copy.a),
    '{}',
  );
});

test('whatever changes in a copy, its text is that of the copy', () => {
  const object = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue(), { maxKeys: 6 });
  fc.assert(
    fc.property(
      object,
      object,
      fc.array(fc.string({ maxLength: 4 })),
      fc.constantFrom(0, 2),
      (value, set, left, space) => {
        const text = JSON.stringify(value, null, space);
        const change = (copy: Json) => {
          for (const name of left) delete copy[name];
          for (const [name, member] of Object.entries(set))
            Object.defineProperty(copy, name, { value: member, enumerable: true, configurable: true, writable: true });
        };
        const copy = copyJson(read(text));
        change(copy);
        assert.deepEqual(JSON.parse(rewrite(text, change)), JSON.parse(JSON.stringify(copy)));
      },
    ),
  );
});
