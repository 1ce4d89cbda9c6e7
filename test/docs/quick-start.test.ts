/** docs/quick-start.md, followed from the first start to the key of an application. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { curl, openPage } from './page.ts';

const DOCUMENT = 'docs/quick-start.md';

test('a gateway without a configuration answers its requests', async (context) => {
  const page = openPage(context, DOCUMENT);
  rmSync(join(page.folder, 'polygate.yaml'));
  const { url, key } = await page.start();
  const lines = page.lines('curl');
  assert.equal(lines.length, 4);
  for (const line of lines) {
    const response = await curl(line, url, { POLYGATE_KEY: key });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.match(text, line.includes('-d') ? /Hello/ : /sandbox\/echo/);
  }
});

test('its commands work with its configuration', async (context) => {
  const page = openPage(context, DOCUMENT, { environment: { OPENAI_API_KEY: 'sk-of-the-docs' } });
  const lines = page.lines('polygate');
  assert.equal(lines.length, 6);
  for (const line of lines) {
    const { stdout } = await page.run(line);
    if (line.includes('route')) assert.match(stdout, /^1\topenai\/gpt-5-mini\t.*\n2\tsandbox\/echo\t/);
    if (line.startsWith('polygate models')) assert.match(stdout, /openai\/gpt-5-mini/);
    if (line.includes('keys list')) assert.match(stdout, /^app\t/m);
  }
});
