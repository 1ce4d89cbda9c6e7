/** docs/keys.md: its commands run one after the other, and so do its requests. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { program } from '../cli/program.ts';
import { startTestGateway } from '../gateway/harness.ts';
import { parseCurl } from './curl.ts';
import { codeIn } from './markdown.ts';

const DOCUMENT = 'docs/keys.md';
const TOKEN = 'admin-token-0123456789-0123456789';
const BLOCKS = codeIn(DOCUMENT, 'sh').map((block) => block.trim().split('\n'));
const COMMANDS = BLOCKS.flat().filter((line) => line.startsWith('polygate '));
const REQUESTS = BLOCKS.flat().filter((line) => line.startsWith('curl '));
const [TABLE = ''] = codeIn(DOCUMENT, 'csv');
const CONFIG = codeIn(DOCUMENT, 'yaml').join('\n');

// Each command is a process of its own.
test('its commands work', { timeout: 120_000 }, async (context) => {
  const { run, folder } = program(context);
  writeFileSync(join(folder, 'people.csv'), TABLE);
  for (const line of COMMANDS) {
    const [command = ''] = line.split(' > ');
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
    const { code, stderr } = await run(words.slice(1));
    assert.equal(code, 0, `${line}: ${stderr}`);
  }
});

test('its requests are answered', async (context) => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as the document has it
  const gateway = await startTestGateway(CONFIG.replace('${POLYGATE_ADMIN_TOKEN}', TOKEN).replace('8081', '0'));
  context.after(() => gateway.close());
  let hash = '';
  for (const line of REQUESTS) {
    const { url, ...request } = parseCurl(line.replace('$POLYGATE_ADMIN_TOKEN', TOKEN).replace('$HASH', hash));
    const response = await fetch(url.replace('http://127.0.0.1:8081', gateway.adminUrl), request);
    const body: Json = await response.json();
    assert.ok(response.ok, `${line}: ${JSON.stringify(body)}`);
    hash ||= body.data?.hash ?? '';
  }
});
