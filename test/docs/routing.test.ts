/** docs/routing.md: its configuration runs, its requests go where it says, its command prints what it shows. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { providerSchema } from '../../src/routing/policy-schema.ts';
import { program } from '../cli/program.ts';
import { HEADERS, KEY, post, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { parseCurl } from './curl.ts';
import { codeIn, tableRows } from './markdown.ts';

const DOCUMENT = 'docs/routing.md';
const [CONFIG = ''] = codeIn(DOCUMENT, 'yaml');
const [REQUESTS = '', COMMAND = ''] = codeIn(DOCUMENT, 'sh');

describe(DOCUMENT, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startTestGateway(CONFIG);
  });
  after(() => gateway.close());

  for (const [, endpoint, attempts, line = ''] of REQUESTS.matchAll(/^# (\S+) after (\d) attempts\n(.*)$/gm)) {
    test(line.slice(0, 100), async () => {
      const { url, ...request } = parseCurl(line, KEY);
      const response = await fetch(url.replace('http://127.0.0.1:8080', gateway.url), request);
      assert.equal(response.status, 200, await response.text());
      assert.equal(response.headers.get('x-polygate-endpoint'), endpoint);
      assert.equal(response.headers.get('x-polygate-attempts'), attempts);
    });
  }

  test('its request is answered', async () => {
    const [body = ''] = codeIn(DOCUMENT, 'json');
    const response = await post(`${gateway.url}/v1/chat/completions`, JSON.parse(body), HEADERS.chat);
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-polygate-endpoint'), 'sandbox/echo');
  });

  test('its command prints what it shows', async (context) => {
    const { folder, run } = program(context);
    writeFileSync(join(folder, 'polygate.yaml'), CONFIG);
    const words = [...COMMAND.trim().matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
    const { code, stdout, stderr } = await run(words.slice(1));
    assert.equal(code, 0, stderr);
    const [shown = ''] = codeIn(DOCUMENT, 'text');
    assert.equal(stdout.replaceAll(/\t+$/gm, ''), shown);
  });

  test('names every field of the policy', () => {
    const fields = tableRows(DOCUMENT).flatMap(([cell = '']) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name));
    assert.deepEqual([...new Set(fields)].toSorted(), Object.keys(providerSchema.properties).toSorted());
  });
});
