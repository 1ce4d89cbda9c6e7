/** The documents' commands, requests and programs, run against the gateway as a user starts it. */

import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Json } from '../../src/core/json/json.ts';
import { parseCurl } from './curl.ts';
import { codeIn, ROOT } from './markdown.ts';

const run = promisify(execFile);
const MAIN = join(ROOT, 'src', 'main.ts');
const README_URL = 'http://127.0.0.1:8080';
const KEY = 'sk-docs-0123456789abcdef';

let folder: string;
let child: ChildProcess;
let url: string;
/** What the gateway printed when it started. */
let banner = '';

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'polygate-docs-'));
  const config = join(folder, 'first.yaml');
  writeFileSync(config, `keys: [{ name: docs, key: ${KEY} }]\n`);
  const args = [MAIN, 'serve', '--port', '0', '--config', config];
  child = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  banner = await greeting(child);
  url = /listens on (\S+)/.exec(banner)?.[1] ?? assert.fail(banner);
});

after(async () => {
  child.kill('SIGTERM');
  await once(child, 'exit');
  rmSync(folder, { recursive: true });
});

/** All that the gateway prints when it starts. */
function greeting({ stderr }: ChildProcess): Promise<string> {
  let text = '';
  return new Promise((resolve, reject) => {
    stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('Ctrl-C')) resolve(text);
    });
    stderr?.on('end', () => reject(new Error(`The gateway ended: ${text}`)));
  });
}

function linesIn(document: string, start: string): string[] {
  return codeIn(document, 'sh')
    .flatMap((code) => code.split('\n'))
    .filter((line) => line.startsWith(start));
}

function textOfAnswer(answer: Json): string {
  return (
    answer.choices?.[0].message.content ??
    answer.content?.[0].text ??
    answer.candidates?.[0].content.parts[0].text ??
    answer.output?.[0].content[0].text
  );
}

describe('README', () => {
  test('shows the request that a start prints', () => {
    const printed = banner
      .split('\n')
      .filter((line) => line.startsWith('  curl '))
      .map((line) => line.trim().replace(url, README_URL));
    assert.equal(printed.length, 1);
    assert.deepEqual(linesIn('README.md', 'curl').slice(0, 1), printed);
  });

  for (const line of linesIn('README.md', 'curl')) {
    test(line.slice(0, 80), async () => {
      const { body, ...request } = parseCurl(line.replace(README_URL, url), KEY);
      const response = await fetch(request.url, { ...request, body });
      const answer = (await response.json()) as Json;
      if (request.url.endsWith('/v1/videos')) {
        assert.equal(response.status, 202, JSON.stringify(answer));
        assert.equal(answer.status, 'queued');
        return;
      }
      assert.equal(response.status, 200, JSON.stringify(answer));
      if (body === undefined) assert.ok(answer.data.some(({ id }: Json) => id.startsWith('sandbox/')));
      else assert.equal(textOfAnswer(answer), 'Hello');
    });
  }

  test('its commands do what they say, with its configuration', async () => {
    const [config = ''] = codeIn('README.md', 'yaml');
    writeFileSync(join(folder, 'polygate.yaml'), config);
    const env = { PATH: process.env.PATH, CI_KEY: KEY };
    for (const line of linesIn('README.md', 'polygate ')) {
      const args = line.slice('polygate '.length).split(' ');
      if (args[0]?.startsWith('-')) continue;
      await run(process.execPath, [MAIN, ...args], { cwd: folder, env });
    }
    const { stdout } = await run(process.execPath, [MAIN, 'keys', 'list', '--json'], { cwd: folder, env });
    const states = (JSON.parse(stdout) as Json[]).map(({ name, state }) => [name, state]);
    assert.deepEqual(states, [
      ['ci', 'active'],
      ['laptop', 'revoked'],
    ]);
  });
});

for (const document of ['README.md', 'docs/clients.md']) {
  describe(`programs in ${document}`, { concurrency: 4 }, () => {
    for (const code of codeIn(document, 'js')) {
      test(code.slice(0, code.indexOf('\n')), async () => {
        const program = code.replaceAll(README_URL, url);
        const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
          cwd: join(ROOT, 'test', 'clients'),
          env: { PATH: process.env.PATH, POLYGATE_KEY: KEY },
        });
        assert.equal(stdout, 'Hello\n');
      });
    }
  });
}

describe('docs/errors.md', () => {
  const REQUESTS = [
    { path: '/v1/chat/completions', body: { model: 'sandbox/echo' } },
    { path: '/anthropic/v1/messages', body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] } },
    { path: '/gemini/v1beta/models/sandbox/echo:generateContent', body: {} },
  ];
  for (const [index, { path, body }] of REQUESTS.entries()) {
    test(`shows what ${path} answers`, async () => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${KEY}`,
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      });
      assert.equal(response.headers.get('x-polygate-error'), 'invalid_request');
      const shown = (await response.text()).replaceAll(/req_[0-9a-f]+/g, 'req_...');
      assert.deepEqual(JSON.parse(shown), JSON.parse(codeIn('docs/errors.md', 'json')[index] ?? ''));
    });
  }
});
