/** docs/usage.md: its configuration, its requests and what they are answered. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { parseCurl } from './curl.ts';
import { codeIn, tableRows } from './markdown.ts';

const DOCUMENT = 'docs/usage.md';
const [CONFIGURATION = ''] = codeIn(DOCUMENT, 'yaml');
const SHOWN = codeIn(DOCUMENT, 'json').map((code): Json => JSON.parse(code));
const LINES = codeIn(DOCUMENT, 'sh').flatMap((code) => code.split('\n').filter((line) => line.startsWith('curl')));

let gateway: TestGateway;
let generation = '';

before(async () => {
  gateway = await startTestGateway(CONFIGURATION);
});

after(() => gateway.close());

async function ask(line: string | undefined): Promise<Json> {
  const placed = (line ?? '').replace('http://127.0.0.1:8080', gateway.url).replace('$GENERATION', generation);
  const { url, ...request } = parseCurl(placed, KEY);
  const response = await fetch(url, request);
  generation = response.headers.get('x-polygate-generation-id') ?? generation;
  assert.equal(response.status, 200);
  return response.json();
}

/** Names and kinds of all members, without their values. */
function shapeOf(value: Json): Json {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

test('the example is answered as shown, and then seen in the record and in the sums', async () => {
  const [first, record, sums, key] = LINES;
  assert.deepEqual((await ask(first)).usage, SHOWN[0]);
  const { data } = await ask(record);
  assert.deepEqual(shapeOf({ data }), shapeOf(SHOWN[1]));
  assert.equal(data.total_cost, SHOWN[1].data.total_cost);
  const report = await ask(sums);
  assert.deepEqual(shapeOf(report), shapeOf(SHOWN[2]));
  assert.deepEqual(report.total, SHOWN[2].total);
  assert.equal((await ask(key)).data.usage, Number(SHOWN[2].total.cost));
});

test('the configuration is read', () => assert.ok(parse(CONFIGURATION).models['team/small']));

test('every way to end is explained', () => {
  // The table of `## Charges` has three columns, and a status in the first.
  const rows = tableRows(DOCUMENT).filter((row) => row.length === 3);
  const statuses = rows.flatMap(([first = '']) => /^`([a-z]+)`$/.exec(first)?.[1] ?? []);
  assert.deepEqual(statuses, ['completed', 'partial', 'cancelled', 'failed', 'interrupted']);
});
