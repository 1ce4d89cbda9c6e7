import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { GatewayError } from '../../src/core/errors.ts';
import { assertValid, problems } from '../../src/core/json/check.ts';

const Part = Type.Union([
  Type.Object({ type: Type.Literal('text'), text: Type.String() }),
  Type.Object({ type: Type.Literal('image'), url: Type.String({ pattern: '^https://' }) }),
]);

const Body = Type.Object({
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  count: Type.Optional(Type.Integer({ minimum: 1 })),
  stop: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 2 })])),
  mode: Type.Optional(Type.Union([Type.Literal('low'), Type.Literal('high')])),
  content: Type.Union([Type.String(), Type.Array(Part)]),
  strict: Type.Optional(Type.Object({ known: Type.Optional(Type.Boolean()) }, { additionalProperties: false })),
});

const CASES: [string, unknown, string, string][] = [
  ['a missing field', {}, 'content', 'is required'],
  ['a number out of range', { content: '', temperature: 3 }, 'temperature', 'must be a number between 0 and 2, not 3'],
  [
    'a text for a number',
    { content: '', temperature: '1' },
    'temperature',
    'must be a number between 0 and 2, not "1"',
  ],
  ['a fraction for an integer', { content: '', count: 1.5 }, 'count', 'must be an integer of at least 1, not 1.5'],
  ['an unknown word', { content: '', mode: 'medium' }, 'mode', 'must be one of "low", "high", not "medium"'],
  ['a missing tag', { content: [{}] }, 'content[0].type', 'is required: one of "text", "image"'],
  ['an unknown tag', { content: [{ type: 'x' }] }, 'content[0].type', 'must be one of "text", "image", not "x"'],
  [
    'a field of the meant branch',
    { content: [{ type: 'text', text: 1 }] },
    'content[0].text',
    'must be a string, not 1',
  ],
  ['a pattern', { content: [{ type: 'image', url: 'ftp:' }] }, 'content[0].url', 'must match ^https://'],
  ['the longest fit of a union', { content: '', stop: ['a', 'b', 'c'] }, 'stop', 'must have at most 2 items'],
  ['no fit of a union', { content: 5 }, 'content', 'must be a string or an array, not 5'],
  [
    'an unknown field where none is allowed',
    { content: '', strict: { knwon: true } },
    'strict.knwon',
    'is not a known field',
  ],
  [
    'an unknown field without a value where none is allowed',
    { content: '', strict: { knwon: null } },
    'strict.knwon',
    'is not a known field',
  ],
];

for (const [name, value, path, message] of CASES) {
  test(`names the field and what is allowed: ${name}`, () => {
    const [first] = problems(Body, value);
    assert.deepEqual({ path: first?.path, message: first?.message }, { path, message });
  });
}

test('null counts as absent in an optional field and is refused in a required one', () => {
  assert.deepEqual(problems(Body, { content: 'x', temperature: null, stop: null }), []);
  assert.equal(problems(Body, { content: null })[0]?.path, 'content');
});

test('unknown fields pass where a schema is open', () => {
  assert.deepEqual(problems(Body, { content: 'x', new_field: 1 }), []);
});

test('a body is refused with the path as parameter', () => {
  assert.throws(
    () => assertValid(Body, { content: 'x', temperature: 9 }),
    (error) => {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.param, 'temperature');
      assert.equal(error.message, 'temperature must be a number between 0 and 2, not 9.');
      return true;
    },
  );
});
