/** docs/debug-a-request.md: its requests, its commands, and what they show. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { codeIn } from './markdown.ts';
import { curl, openPage } from './page.ts';

const DOCUMENT = 'docs/debug-a-request.md';
const [TRACE, LINE] = codeIn(DOCUMENT, 'json').map((code): Json => JSON.parse(code));

/** A trace without its times. */
function steady({ attempts, ...trace }: Json): Json {
  return { ...trace, attempts: attempts.map(({ milliseconds, firstByte, ...rest }: Json) => rest) };
}

test('the trace, the record and the line of the log are those of the request that is shown', async (context) => {
  const page = openPage(context, DOCUMENT);
  const { url, key, running } = await page.start();
  const [ask = '', look = ''] = page.lines('curl');
  const response = await curl(ask, url, { POLYGATE_KEY: key });
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(steady(JSON.parse(response.headers.get('x-polygate-trace') ?? '')), steady(TRACE));
  const id = response.headers.get('x-polygate-generation-id') ?? '';
  const record = await curl(look, url, { POLYGATE_KEY: key, GENERATION: id });
  const { data }: Json = await record.json();
  assert.deepEqual([data.id, data.attempts, data.status, data.total_cost], [id, 2, 'completed', 0.000006]);
  const [logged] = await running.shows(/^\{.*"answered".*\}$/m, 'stderr');
  const line: Json = JSON.parse(logged);
  assert.deepEqual(Object.keys(line), Object.keys(LINE));
  for (const name of ['protocol', 'model', 'endpoint', 'attempts', 'path', 'status', 'usage', 'finish', 'cost', 'msg'])
    assert.deepEqual(line[name], LINE[name], name);
  assert.equal(line.requestId, response.headers.get('x-polygate-request-id'));
});

test('its commands show where a request goes', async (context) => {
  const page = openPage(context, DOCUMENT);
  const [plain = '', only = ''] = page.lines('polygate');
  assert.match((await page.run(plain)).stdout, /^1\tsandbox\/faulty\t.*\n2\tsandbox\/echo\t/);
  assert.match((await page.run(only)).stdout, /^1\tsandbox\/echo\t.*\n-\tsandbox\/faulty\t/);
});
