/** Schema of the configuration for editors and for the chart: what the program validates, before variables are replaced. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { configSchema } from '../../src/config/schema.ts';
import { readYaml } from '../../src/config/yaml-document.ts';
import { isObject, type Json } from '../../src/core/json/json.ts';

const load = createRequire(import.meta.url);
const { default: Ajv } = load('ajv/dist/2020');
const { default: addFormats } = load('ajv-formats');

const root = join(import.meta.dirname, '../..');
const path = join(import.meta.dirname, '../../config.schema.json');
const chartPath = join(import.meta.dirname, '../../deploy/helm/polygate/values.schema.json');

const ajv = addFormats(new Ajv({ strict: false }));

/**
 * Schema of the file as it is written: each value may be a reference such as `${NAME}`, which the program replaces before it
 * validates, and each section may be empty.
 */
function writtenSchema(schema: Json): Json {
  if (schema.type === 'array') return { ...schema, items: writtenSchema(schema.items) };
  if (schema.type === 'object') {
    const { properties, patternProperties } = schema;
    return {
      ...schema,
      type: ['object', 'null'],
      ...(properties && { properties: ofEach(properties) }),
      ...(patternProperties && { patternProperties: ofEach(patternProperties) }),
    };
  }
  const { description, default: standard, anyOf, ...rest } = schema;
  const branches = anyOf ? anyOf.map((one: Json) => (one.type === 'object' ? writtenSchema(one) : one)) : [rest];
  if (ajv.compile({ anyOf: branches })(`\${NAME}`)) return anyOf ? { ...schema, anyOf: branches } : schema;
  return {
    ...(description && { description }),
    ...(standard !== undefined && { default: standard }),
    ...(anyOf && rest),
    anyOf: [...branches, REFERENCE],
  };
}

const REFERENCE = { type: 'string', pattern: '\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}' };

function ofEach(schemas: Json): Json {
  return Object.fromEntries(Object.entries<Json>(schemas).map(([name, one]) => [name, writtenSchema(one)]));
}

/** Expression for names that are none of a list. */
const NONE_OF = /^\^\(\?!\(([\w|]+)\)\$\)\.$/;

/** Without expressions that look ahead: Helm, whose expressions are those of Go, refuses a chart for one. */
function portable(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(portable);
  if (!isObject(schema)) return schema;
  const entries = Object.entries<Json>(schema).flatMap(([name, value]): [string, Json][] => {
    const [pattern = ''] = name === 'patternProperties' ? Object.keys(value) : [];
    const names = NONE_OF.exec(pattern)?.[1]?.split('|');
    if (!names) return [[name, portable(value)]];
    return [
      ['propertyNames', { minLength: 1, not: { enum: names } }],
      ['additionalProperties', portable(value[pattern])],
    ];
  });
  return Object.fromEntries(entries);
}

const written = { ...portable(writtenSchema(JSON.parse(JSON.stringify(configSchema)))), type: 'object' };

test('config.schema.json is what the program validates, or a reference to it; npm run golden writes it', () => {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...written };
  const text = `${JSON.stringify(schema, null, 2)}\n`;
  if (process.env.GOLDEN === 'update') writeFileSync(path, text);
  assert.equal(readFileSync(path, 'utf8'), text);
});

test('expressions of the schema are those that all languages have', () => {
  for (const file of [path, chartPath]) assert.doesNotMatch(readFileSync(file, 'utf8'), /\(\?[!=<]/, file);
});

test('the values of the chart have the same schema for the configuration', () => {
  const values = JSON.parse(readFileSync(chartPath, 'utf8'));
  const { title: _, ...config } = written;
  if (process.env.GOLDEN === 'update') {
    values.properties.config = config;
    writeFileSync(chartPath, `${JSON.stringify(values, null, 2)}\n`);
  }
  assert.deepEqual(values.properties.config, config);
});

test('editors accept every example, references to variables included', () => {
  const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')));
  const files = [
    ...readdirSync(join(root, 'examples')).map((name) => `examples/${name}`),
    ...readdirSync(join(root, 'deploy/compose/config')).map((name) => `deploy/compose/config/${name}`),
    'deploy/systemd/polygate.yaml',
  ].filter((name) => name.endsWith('.yaml'));
  const written = files.map((name) => [name, readFileSync(join(root, name), 'utf8')]);
  const pages = ['README.md', 'SECURITY.md', 'docs/configuration.md', 'docs/keys.md', 'docs/operations.md'];
  const documented = pages.flatMap((name) =>
    [...readFileSync(join(root, name), 'utf8').matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => [name, text]),
  );
  assert.ok(written.length > 5 && documented.length > 5);
  for (const [name, text = ''] of [...written, ...documented]) {
    assert.ok(validate(readYaml(text).value), `${name}: ${ajv.errorsText(validate.errors)}\n${text}`);
  }
});

test('editors accept references and empty sections, and refuse other values of a wrong form', () => {
  const validate = ajv.compile(JSON.parse(readFileSync(path, 'utf8')));
  const accepted = [
    `server: { port: "\${PORT:-8080}", drain: "\${DRAIN}" }`,
    `keys: [{ name: ci, key: "\${CI_KEY}", expires: "\${UNTIL}" }]`,
    'server:\ndata: ./data',
  ];
  for (const text of accepted) assert.ok(validate(readYaml(text).value), `${text}: ${ajv.errorsText(validate.errors)}`);
  for (const text of ['server: { port: "x" }', 'keys: [{ name: ci, key: short }]', 'server: { drain: 5 }', 'servr:'])
    assert.ok(!validate(readYaml(text).value), text);
});

test('every field is described', () => {
  const missing: string[] = [];
  walk(configSchema, '', missing);
  assert.deepEqual(missing, []);
});

function walk(schema: Json, path: string, missing: string[]): void {
  for (const [name, field] of Object.entries<Json>(schema.properties ?? {})) {
    if (!field.description) missing.push(`${path}.${name}`);
    walk(field, `${path}.${name}`, missing);
  }
  const inner = [schema.items, ...(schema.anyOf ?? []), ...Object.values(schema.patternProperties ?? {})];
  for (const branch of inner) if (branch) walk(branch, `${path}[]`, missing);
}
