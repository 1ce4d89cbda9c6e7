/** docs/configuration.md has every field of the configuration, with the default that holds. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configSchema } from '../../src/config/schema.ts';
import type { Json } from '../../src/core/json/json.ts';
import { PRICE_NAMES } from '../../src/core/prices.ts';
import { tableRows } from './markdown.ts';

const MODELS = 'providers.<id>.models[]';
const RULES = `${MODELS}.rules.`;

describe('docs/configuration.md', () => {
  const rows = tableRows('docs/configuration.md').map((row) => row.map((cell) => cell.replaceAll('`', '')));
  const fields = fieldsOf(configSchema as Json, '');
  const isRule = ([name = '']: string[]) => !/[.[]/.test(name) && !fields.has(name);

  test('names every field, and nothing else', () => {
    const documented = rows.filter((row) => !isRule(row)).map(([name = '']) => name);
    assert.deepEqual(
      documented,
      [...fields.keys()].filter((path) => !path.startsWith(MODELS)),
    );
  });

  test('docs/catalog.md has the unit of every price', () => {
    const units = tableRows('docs/catalog.md').flatMap(([names = '']) => names.replaceAll('`', '').split(', '));
    assert.deepEqual(
      PRICE_NAMES.filter((name) => !units.includes(name)),
      [],
    );
  });

  test('gives the defaults that hold', () => {
    const defaults = new Map(rows.map(([name = '', value = '']) => [name, value]));
    for (const [path, { default: value }] of fields) {
      if (value !== undefined) assert.equal(defaults.get(path), String(value), path);
    }
  });

  test('names every rule with its values', () => {
    const rules = [...fields].filter(([path]) => path.startsWith(RULES));
    const documented = rows.filter(isRule).map(([name = '', values = '']) => [name, values.replace('list of ', '')]);
    assert.deepEqual(
      documented,
      rules.map(([path, schema]) => [path.slice(RULES.length), valuesOf(schema)]),
    );
  });
});

/** Every field that is no group of others, by its path. */
function fieldsOf(schema: Json, path: string): Map<string, Json> {
  const fields = new Map<string, Json>();
  const inside = Object.entries({
    ...schema.properties,
    ...(schema.patternProperties && { '<id>': Object.values(schema.patternProperties)[0] }),
  });
  const items = (schema.anyOf?.find((branch: Json) => branch.items) ?? schema).items;
  const isLeaf =
    path.startsWith(RULES) || /\.(headers|pricing)$/.test(path) || (inside.length === 0 && !items?.properties);
  if (isLeaf || schema.anyOf) fields.set(path, schema);
  if (isLeaf) return fields;
  const children = inside.map(([name, child]): [string, Json] => [path === '' ? name : `${path}.${name}`, child]);
  if (items?.properties) children.push(...fieldsUnder(items, `${path}[]`));
  for (const [name, child] of children) for (const [key, value] of fieldsOf(child, name)) fields.set(key, value);
  return fields;
}

function fieldsUnder(schema: Json, path: string): [string, Json][] {
  return Object.entries(schema.properties).map(([name, child]) => [`${path}.${name}`, child]);
}

function valuesOf(schema: Json): string {
  if (schema.type === 'boolean') return 'true, false';
  if (schema.type === 'object') return `{ ${Object.keys(schema.properties).join(', ')} }`;
  return (schema.enum ?? schema.items?.enum)?.join(', ') ?? schema.type;
}
