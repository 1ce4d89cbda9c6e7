/** Members at paths: found one by one, and while a text is scanned. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { guard } from '../../src/core/json/scan.ts';
import { everySpanAt, firstSpanAt, MemberWatch, SoughtMembers, withEdits } from '../../src/core/json/spans.ts';

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

test('a scan notes all members at the paths, and names at any depth', () => {
  const sought = new SoughtMembers(PATHS, ['state']);
  const names = fc.constantFrom('model', 'response', 'state', 'a', 'b "model"', 'é');
  const inner = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 0 }),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.array(fc.tuple(names, tie('value')), { maxLength: 4 }).map((members) => new Repeated(members)),
    ),
  }));
  fc.assert(
    fc.property(inner.value, fc.boolean(), (value, isEscaped) => {
      const plain = textOf(value);
      const bytes = Buffer.from(isEscaped ? plain.replace('"model":', '"m\\u006fdel":') : plain);
      const watch = new MemberWatch(sought);
      guard(bytes, undefined, watch);
      assert.deepEqual(watch.spansAt(bytes, PATHS), everySpanAt(bytes, PATHS));
      assert.deepEqual(watch.spansAt(bytes, PATHS.slice(1)), everySpanAt(bytes, PATHS.slice(1)));
      const [path] = PATHS;
      assert.deepEqual(watch.spansAt(bytes, path ? [path] : []), everySpanAt(bytes, [['model']]));
      assert.equal(watch.hasName, namesIn(value).includes('state'));
    }),
    { numRuns: 500 },
  );
});

/** Members of an object, whose names may be repeated. */
class Repeated {
  readonly members: readonly (readonly [string, unknown])[];

  constructor(members: readonly (readonly [string, unknown])[]) {
    this.members = members;
  }
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return value instanceof Repeated ? value.members.flatMap(([name, inner]) => [name, ...namesIn(inner)]) : [];
}

function textOf(value: unknown): string {
  if (value instanceof Repeated)
    return `{${value.members.map(([name, inner]) => `${JSON.stringify(name)}:${textOf(inner)}`).join(', ')}}`;
  return Array.isArray(value) ? `[ ${value.map(textOf).join()} ]` : JSON.stringify(value);
}

test('an escaped name is the name', () => {
  const watch = new MemberWatch(new SoughtMembers(PATHS, ['state']));
  const text = String.raw`{"\u0072esponse":{"\u006d\u006f\u0064\u0065\u006c":1},"a":[{"st\u0061te":2}],"m\odel":3}`;
  guard(Buffer.from(text), undefined, watch);
  assert.deepEqual(watch.spansAt(Buffer.from(text), PATHS), everySpanAt(Buffer.from(text), PATHS));
  assert.ok(watch.hasName);
});

test('a member that is repeated too often is refused before it takes time', () => {
  for (const name of ['model', String.raw`m\u006fdel`]) {
    const bytes = Buffer.from(`{${Array(90_000).fill(`"${name}":1`).join()}}`);
    const watch = new MemberWatch(new SoughtMembers(PATHS));
    assert.throws(() => guard(bytes, undefined, watch), { code: 'upstream_error' });
  }
});

test('a name of any length stands between a member and the next', () => {
  const watch = new MemberWatch(new SoughtMembers(PATHS));
  const bytes = Buffer.from(`{"response":null,"${'n'.repeat(2000)}":{"model":"other"},"model":"m"}`);
  guard(bytes, undefined, watch);
  assert.deepEqual(watch.spansAt(bytes, PATHS), everySpanAt(bytes, PATHS));
});

test('edits are made in one copy', () => {
  const edit = (start: number, end: number, text: string) => ({ start, end, text: Buffer.from(text) });
  assert.equal(
    String(withEdits(Buffer.from('abcdef'), [edit(0, 0, '<'), edit(1, 3, 'X'), edit(6, 6, '>')])),
    '<aXdef>',
  );
});

test('text that is no object, or breaks off, has none', () => {
  for (const text of ['', '[]', '"model"', '{', '{"a"', '{"a":', '{"a":1', '{"a" 1,"model":2}', '{a:1}'])
    assert.equal(firstSpanAt(Buffer.from(text), PATHS), undefined, text);
});
