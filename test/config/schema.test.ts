import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configSchema } from '../../src/config/schema.ts';
import type { Json } from '../../src/core/json/json.ts';

const path = join(import.meta.dirname, '../../config.schema.json');
const chartPath = join(import.meta.dirname, '../../deploy/helm/polygate/values.schema.json');

test('config.schema.json is what the program validates; npm run golden writes it', () => {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...configSchema };
  const text = `${JSON.stringify(schema, null, 2)}\n`;
  if (process.env.GOLDEN === 'update') writeFileSync(path, text);
  assert.equal(readFileSync(path, 'utf8'), text);
});

test('the values of the chart have the same schema for the configuration', () => {
  const values = JSON.parse(readFileSync(chartPath, 'utf8'));
  const { title: _, ...config } = JSON.parse(JSON.stringify(configSchema));
  if (process.env.GOLDEN === 'update') {
    values.properties.config = config;
    writeFileSync(chartPath, `${JSON.stringify(values, null, 2)}\n`);
  }
  assert.deepEqual(values.properties.config, config);
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
