/** docs/configuration.md has every field of the configuration, with the default that holds. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configSchema } from '../../src/config/schema.ts';
import type { Json } from '../../src/core/json/json.ts';
import { PRICE_NAMES } from '../../src/core/prices.ts';
import { needsRestart } from '../../src/gateway/reloadable-parts.ts';
import { configOf } from '../config/sources.ts';
import { tableRows, textOf } from './markdown.ts';

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

const TOKEN = 'a-token-of-thirty-two-characters';
/** Changes all that needs a restart. */
const FIXED = `
server:
  { host: 0.0.0.0, port: 1, public_url: "https://a.test", workers: 2, body_limit: 1MiB, body_memory: 64MiB, connections_per_address: 5, trusted_proxies: [10.0.0.0/8], prefixes: { messages: claude } }
data: ./elsewhere
usage: { durability: batched, journal: local, export: { folder: ./exported } }
encryption: { key_file: ./key }
network: { dns_servers: ["10.0.0.2:53"] }
callbacks: { secret: "a-secret-of-webhooks", timeout: 5s }
notices: { webhook: "https://ops.example.com" }
videos: { keep_media: 1d }
telemetry: { propagate: true }
admin: { token: ${TOKEN} }
ui: { capture: false }`;
/** Changes settings of the other sections, and others of the same. */
const RELOADED = `
server: { deadlines: { idle: 1m }, drain: 1s, keep_alive: 1s, websockets: false, websockets_per_key: 1 }
catalog: { update: daily }
responses: { store: false }
usage: { keep: 1d, max_size: 1GiB, trace: none }
limits: { requests_per_minute: 1 }
tags: { team=search: { budgets: { day: "1.00" } } }
keys: [{ name: ci, key: a-key-of-sixteen-characters }]
providers: { sandbox: { enabled: false } }
routing: { cooldown: 1s }`;

test('docs/configuration.md lists the settings that need a restart', () => {
  const [, list = ''] = /needs a restart;.*?\n\n((?:- .*\n)+)/.exec(textOf('docs/configuration.md')) ?? [];
  const documented = [...list.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name);
  assert.deepEqual(needsRestart(configOf(''), configOf(FIXED)).toSorted(), documented.toSorted());
  assert.deepEqual(needsRestart(configOf(''), configOf(RELOADED)), []);
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
