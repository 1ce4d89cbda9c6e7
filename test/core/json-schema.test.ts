import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { read } from '../../src/core/json/json.ts';
import { type SchemaDialect, toDialect } from '../../src/core/json/schema.ts';

const BASE = [
  'type',
  'properties',
  'required',
  'items',
  'enum',
  'anyOf',
  'description',
  '$ref',
  '$defs',
  'additionalProperties',
];

function translated(schema: unknown, dialect: Partial<SchemaDialect> = {}) {
  return toDialect(schema, { keep: BASE, ...dialect });
}

describe('keywords', () => {
  test('an unlisted keyword is left out and named by its path', () => {
    const schema = { type: 'object', properties: { age: { type: 'integer', multipleOf: 2 } }, $comment: 'x' };
    assert.deepEqual(translated(schema), {
      schema: { type: 'object', properties: { age: { type: 'integer' } } },
      lost: ['properties.age.multipleOf', '$comment'],
    });
  });

  test('a property may be named like a keyword', () => {
    const schema = { type: 'object', properties: { pattern: { type: 'string' }, $ref: { type: 'string' } } };
    assert.deepEqual(translated(schema), { schema, lost: [] });
  });

  test('described keywords go into the description', () => {
    const dialect = { describe: ['minLength', 'pattern'] };
    const { schema, lost } = translated(
      { type: 'string', description: 'A code.', minLength: 2, pattern: '^a' },
      dialect,
    );
    assert.deepEqual(schema, { type: 'string', description: 'A code. (minLength: 2, pattern: "^a")' });
    assert.deepEqual(lost, []);
  });

  test('a kept keyword with an unsupported value is treated like an unlisted one', () => {
    const dialect: Partial<SchemaDialect> = {
      keep: [...BASE, 'format'],
      accepts: (keyword, value) => keyword !== 'format' || value === 'date',
    };
    assert.deepEqual(translated({ type: 'string', format: 'date' }, dialect).schema, {
      type: 'string',
      format: 'date',
    });
    assert.deepEqual(translated({ type: 'string', format: 'uri' }, dialect), {
      schema: { type: 'string' },
      lost: ['format'],
    });
    const described = translated({ type: 'string', format: 'uri' }, { ...dialect, describe: ['format'] });
    assert.deepEqual(described.schema, { type: 'string', description: '(format: "uri")' });
  });

  test('an enum keeps the values that are supported', () => {
    const strings: Partial<SchemaDialect> = {
      accepts: (keyword, value) => keyword !== 'enum' || typeof value === 'string',
    };
    assert.deepEqual(translated({ enum: ['a', null, 1] }, strings).schema, { enum: ['a'] });
    assert.deepEqual(translated({ enum: [true] }, strings), { schema: {}, lost: ['enum'] });
  });

  test('numbers beyond a double keep their digits', () => {
    const schema = read('{"type":"integer","enum":[9223372036854775807]}');
    assert.equal(JSON.stringify(translated(schema).schema), '{"type":"integer","enum":[9223372036854775807]}');
  });

  test('the input stays as it is', () => {
    const schema = {
      type: 'object',
      properties: { a: { const: 1, oneOf: [{ type: 'string' }] } },
      allOf: [{ required: ['a'] }],
    };
    const before = structuredClone(schema);
    const result = translated(schema, { closed: true, allRequired: true });
    result.schema.properties.a.enum.push(2);
    assert.deepEqual(schema, before);
  });
});

describe('equivalents', () => {
  test('oneOf becomes anyOf and const an enum where only those are known', () => {
    assert.deepEqual(translated({ oneOf: [{ const: 'a' }, { type: 'null' }] }), {
      schema: { anyOf: [{ enum: ['a'], type: 'string' }, { type: 'null' }] },
      lost: [],
    });
    const all: SchemaDialect = { keep: [...BASE, 'oneOf', 'const'] };
    assert.deepEqual(toDialect({ oneOf: [{ const: 'a' }] }, all).schema, { oneOf: [{ const: 'a' }] });
  });

  test('allOf is merged into its node', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      allOf: [{ properties: { b: { type: 'number' } }, required: ['b'] }, { $ref: '#/$defs/C' }],
      $defs: { C: { type: 'object', properties: { c: { type: 'boolean', const: true } } } },
    };
    assert.deepEqual(translated(schema), {
      schema: {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'number' }, c: { type: 'boolean', enum: [true] } },
        required: ['a', 'b'],
        $defs: { C: { type: 'object', properties: { c: { type: 'boolean', enum: [true] } } } },
      },
      lost: [],
    });
  });

  test('contradicting keywords of an allOf are named', () => {
    const { schema, lost } = translated({ type: 'string', allOf: [{ type: 'number' }] });
    assert.deepEqual(schema, { type: 'string' });
    assert.deepEqual(lost, ['allOf.0.type']);
  });

  test('a described single allOf reference keeps its description around the reference', () => {
    const schema = {
      properties: { a: { description: 'An A.', allOf: [{ $ref: '#/definitions/A' }] } },
      definitions: { A: { type: 'string' } },
    };
    assert.deepEqual(translated(schema).schema, {
      properties: { a: { description: 'An A.', anyOf: [{ $ref: '#/$defs/A' }] } },
      $defs: { A: { type: 'string' } },
    });
  });

  test('nullable and type arrays turn into each other', () => {
    const openApi: SchemaDialect = { keep: [...BASE, 'nullable'] };
    assert.deepEqual(toDialect({ type: ['string', 'null'] }, openApi).schema, { type: 'string', nullable: true });
    assert.deepEqual(toDialect({ type: ['string', 'number'] }, openApi).schema, {
      anyOf: [{ type: 'string' }, { type: 'number' }],
    });
    assert.deepEqual(translated({ type: 'string', nullable: true }).schema, { type: ['string', 'null'] });
    assert.deepEqual(translated({ type: 'string', nullable: false }), { schema: { type: 'string' }, lost: [] });
  });
});

describe('objects', () => {
  test('closing an open object names the dropped keyword', () => {
    const schema = { type: 'object', properties: { a: { type: 'object', additionalProperties: { type: 'string' } } } };
    assert.deepEqual(translated(schema, { closed: true }), {
      schema: {
        type: 'object',
        properties: { a: { type: 'object', additionalProperties: false } },
        additionalProperties: false,
      },
      lost: ['properties.a.additionalProperties'],
    });
  });

  test('when all properties are required, the optional ones accept null', () => {
    const schema = {
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'string' },
        size: { type: 'string', enum: ['s'] },
        any: {},
        ref: { $ref: '#/$defs/A' },
      },
      $defs: { A: { type: 'string' } },
    };
    const { schema: strict } = translated(schema, { closed: true, allRequired: true });
    assert.deepEqual(strict.required, ['id', 'size', 'any', 'ref']);
    assert.deepEqual(strict.properties, {
      id: { type: 'string' },
      size: { type: ['string', 'null'], enum: ['s', null] },
      any: {},
      ref: { anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] },
    });
  });

  test('boolean schemas', () => {
    const schema = {
      type: 'object',
      properties: { any: true, never: false },
      required: ['any', 'never'],
      additionalProperties: false,
      items: true,
    };
    assert.deepEqual(translated(schema), {
      schema: { type: 'object', properties: { any: {} }, required: ['any'], additionalProperties: false, items: {} },
      lost: ['properties.never'],
    });
    assert.deepEqual(translated(true), { schema: {}, lost: [] });
  });
});

describe('references', () => {
  const tree = {
    $ref: '#/$defs/Node',
    $defs: {
      Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' }, name: { $ref: '#/$defs/Name' } } },
      Name: { type: 'string' },
    },
  };

  test('cyclic references stay where they are accepted', () => {
    assert.deepEqual(translated(tree), { schema: tree, lost: [] });
  });

  test('cyclic references are cut where they are not accepted', () => {
    const { schema, lost } = translated(tree, { acyclic: true });
    assert.deepEqual(schema.$defs.Node.properties, { next: {}, name: { $ref: '#/$defs/Name' } });
    assert.deepEqual(lost, ['$defs.Node.properties.next.$ref']);
  });

  test('references are inlined where they are unsupported', () => {
    const { schema, lost } = toDialect(tree, { keep: ['type', 'properties'] });
    assert.deepEqual(schema, { type: 'object', properties: { next: {}, name: { type: 'string' } } });
    assert.ok(lost.includes('$defs.Node.properties.next.$ref'));
  });

  test('an allOf that refers to itself ends', () => {
    const schema = {
      allOf: [{ $ref: '#/$defs/A' }, { type: 'object' }],
      $defs: { A: { title: 'A', allOf: [{ $ref: '#/$defs/A' }, { title: 'B' }] } },
    };
    assert.deepEqual(translated(schema, { keep: ['type', 'title'] }).schema, { title: 'A', type: 'object' });
  });

  test('a dangling reference is named', () => {
    assert.deepEqual(toDialect({ $ref: 'https://example.com/a' }, { keep: ['type'] }), { schema: {}, lost: ['$ref'] });
    assert.deepEqual(toDialect({ $ref: '#/$defs/__proto__' }, { keep: ['type'] }), { schema: {}, lost: ['$ref'] });
  });

  test('values that are not schemas do not fail', () => {
    for (const properties of ['constructor', [null], { a: null, b: 'x' }]) {
      translated({ type: 'object', properties }, { allRequired: true, closed: true });
    }
  });

  test('references with exponential expansion are refused', () => {
    const $defs: Record<string, unknown> = { d0: { type: 'string' } };
    for (let level = 1; level <= 20; level++) {
      const below = { $ref: `#/$defs/d${level - 1}` };
      $defs[`d${level}`] = { type: 'object', properties: { a: below, b: below } };
    }
    assert.throws(() => toDialect({ $ref: '#/$defs/d20', $defs }, { keep: ['type', 'properties'] }), /too large/);
  });
});
