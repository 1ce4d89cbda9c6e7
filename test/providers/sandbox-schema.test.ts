/** The values the sandbox makes up fit the schemas they are made for. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Check } from 'typebox/schema';
import type { Json } from '../../src/core/json/json.ts';
import { samplePattern } from '../../src/providers/sandbox/pattern-sample.ts';
import { sampleSchema } from '../../src/providers/sandbox/schema-sample.ts';

const TEXT = 'hello there';

function assertFits(schema: Json): void {
  const value = sampleSchema(schema, TEXT);
  assert.notEqual(value, undefined, `no value for ${JSON.stringify(schema)}`);
  assert.ok(Check(schema, value), `${JSON.stringify(value)} does not fit ${JSON.stringify(schema)}`);
}

const SCHEMAS: Record<string, Json> = {
  const: { const: { deep: [1] } },
  enum: { enum: ['celsius', 'fahrenheit'] },
  'a list of types': { type: ['null', 'integer'] },
  'exclusive bounds': { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
  'a multiple between bounds': { type: 'integer', multipleOf: 7, minimum: 30, maximum: 40 },
  'negative numbers': { type: 'integer', maximum: -5, multipleOf: 3 },
  'a short string': { type: 'string', maxLength: 3 },
  'a long string': { type: 'string', minLength: 50 },
  'unique items': { type: 'array', items: { type: 'integer' }, minItems: 4, uniqueItems: true },
  'unique words': { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
  'a tuple': { type: 'array', prefixItems: [{ type: 'string' }, { type: 'boolean' }], items: false },
  'the least number of properties': { type: 'object', minProperties: 3, additionalProperties: { type: 'integer' } },
  'the largest number of properties': {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } },
    required: ['c'],
    maxProperties: 2,
  },
  'required without a definition': { type: 'object', required: ['anything'] },
  'a name from the prototype': {
    type: 'object',
    properties: { constructor: { type: 'string' } },
    required: ['constructor'],
  },
  'anyOf with a hopeless branch': { anyOf: [{ type: 'integer', minimum: 2, maximum: 1 }, { type: 'boolean' }] },
  'anyOf beside properties': {
    type: 'object',
    properties: { kind: { type: 'string' } },
    anyOf: [{ properties: { kind: { const: 'a' }, size: { type: 'integer' } }, required: ['kind', 'size'] }],
  },
  'oneOf by tag': {
    oneOf: [
      { type: 'object', properties: { type: { const: 'a' }, a: { type: 'integer' } }, required: ['type', 'a'] },
      { type: 'object', properties: { type: { const: 'b' } }, required: ['type'] },
    ],
  },
  'allOf of references': {
    allOf: [{ $ref: '#/$defs/named' }, { properties: { age: { minimum: 18 } }, required: ['age'] }],
    $defs: {
      named: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } }, required: ['name'] },
    },
  },
  'a list that refers to itself': {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
        required: ['value', 'next'],
        additionalProperties: false,
      },
    },
  },
  'a tree': {
    type: 'object',
    properties: { label: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    required: ['label', 'children'],
  },
  'a bush of references': {
    type: 'object',
    properties: Object.fromEntries([...'abcdefghij'].map((name) => [name, { $ref: '#' }])),
  },
  'an escaped pointer': { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { type: 'integer' } } },
  'keywords without a type': { minimum: 3, maximum: 3 },
};

describe('the sandbox makes a value for', () => {
  for (const [name, schema] of Object.entries(SCHEMAS)) test(name, () => assertFits(schema));

  for (const format of [
    'date-time',
    'date',
    'time',
    'email',
    'hostname',
    'ipv4',
    'ipv6',
    'uri',
    'uuid',
    'duration',
    'regex',
  ]) {
    test(`the format ${format}`, () => assertFits({ type: 'string', format }));
  }

  test('any schema of ordinary keywords', () => {
    const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 },
        scalars,
        objectsOf(tie('schema')),
        arraysOf(tie('schema')),
        anyOf(tie('schema')),
      ),
    }));
    fc.assert(fc.property(schema, assertFits), { numRuns: 500 });
  });
});

const scalars: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom({ type: 'boolean' }, { type: 'null' }, {}, { type: 'string' }),
  fc
    .tuple(fc.integer({ min: -99, max: 99 }), fc.nat(20))
    .map(([minimum, more]) => ({ type: 'integer', minimum, maximum: minimum + more })),
  fc
    .tuple(fc.nat(20), fc.nat(20))
    .map(([minLength, more]) => ({ type: 'string', minLength, maxLength: minLength + more })),
  fc.uniqueArray(fc.oneof(fc.string(), fc.integer()), { minLength: 1 }).map((values) => ({ enum: values })),
);

function objectsOf(inner: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  return fc
    .dictionary(fc.string({ maxLength: 5 }), inner, { maxKeys: 4 })
    .chain((properties) =>
      fc
        .subarray(Object.keys(properties))
        .map((required) => ({ type: 'object', properties, required, additionalProperties: false })),
    );
}

function arraysOf(inner: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  return fc
    .tuple(inner, fc.nat(3), fc.nat(3))
    .map(([items, minItems, more]) => ({ type: 'array', items, minItems, maxItems: minItems + more }));
}

function anyOf(inner: fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  return fc.array(inner, { minLength: 1, maxLength: 3 }).map((branches) => ({ anyOf: branches }));
}

describe('the sandbox gives up on', () => {
  const hopeless: Record<string, Json> = {
    'nothing allowed': false,
    'a circle of allOf': { allOf: [{ $ref: '#' }, { $ref: '#' }] },
    'endless nesting': { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] },
    'bounds that cross': { type: 'integer', minimum: 2, maximum: 1 },
    'a billion items': { type: 'array', items: { type: 'null' }, minItems: 1e9 },
    'a string of a gigabyte': { type: 'string', minLength: 1e9 },
  };
  for (const [name, schema] of Object.entries(hopeless)) {
    test(name, () => assert.equal(sampleSchema(schema, TEXT), undefined));
  }
});

test('malformed keywords of a schema are ignored', () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom(
          'type',
          'properties',
          'required',
          'items',
          'anyOf',
          'allOf',
          '$ref',
          'enum',
          'minLength',
          'pattern',
          'format',
          'multipleOf',
          'minItems',
        ),
        fc.jsonValue({ maxDepth: 2 }),
      ),
      (schema) => void sampleSchema(schema, TEXT),
    ),
  );
});

describe('a string for the pattern', () => {
  const patterns = ['^[A-Z]{3}-\\d{4}$', '^(?:red|green)$', '^\\w+@\\w+\\.com$', '^[^a-z]+$', '^(a|b){2,5}x?$', '^[\\p{L}_]+$',
    '^#[0-9a-fA-F]{6}$', '^(?<year>\\d{4})-(\\d\\d)$', '^\\u0041\\x2d$', '^[\\u4e00-\\u9fff]+$', '.', '', '^\\/api\\/v\\d+$', '^[\\]\\-]$', '^é{2}$']; // biome-ignore format: a list
  for (const pattern of patterns) {
    test(pattern, () => assert.match(samplePattern(pattern, 0) ?? 'none', new RegExp(pattern, 'u')));
  }

  test('that must be long', () => {
    assert.equal(samplePattern('^[a-z]+-\\d*$', 8), 'aaaaaaa-');
    assert.equal(samplePattern('^x{2,4}$', 3), 'xxx');
  });

  test('that is not supported is undefined', () => {
    for (const pattern of ['^(?=a)b', '(a)\\1', '(((a{999}){999}){999})', '[', '(', ')', 'a'.repeat(501)]) {
      assert.equal(samplePattern(pattern, 0), undefined, pattern);
    }
  });

  test('is never an exception', () => {
    const signs = fc.constantFrom(...'ab01()[]{}|*+?^$.\\-,dwpu<>:=');
    fc.assert(
      fc.property(fc.array(signs), fc.nat(9), (pattern, length) => void samplePattern(pattern.join(''), length)),
    );
  });
});
