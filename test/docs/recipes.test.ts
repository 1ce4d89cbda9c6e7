/** The recipes, followed to the letter with the real program; local servers stand for the providers. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { Json } from '../../src/core/json/json.ts';
import { speak } from '../conformance/rig.ts';
import { type Answerer, answerJson, startUpstream, type TestUpstream } from '../gateway/harness.ts';
import { parseCurl } from './curl.ts';
import { codeIn, tableRows } from './markdown.ts';
import { curl, openPage, wordsOf } from './page.ts';

const execute = promisify(execFile);
const HELLO: Answerer = speak({ text: 'Hello' });

async function upstreamFor(context: TestContext, answer: Answerer): Promise<TestUpstream> {
  const upstream = await startUpstream(answer);
  context.after(() => upstream.close());
  return upstream;
}

test('OpenAI with a fallback to Anthropic', async (context) => {
  const document = 'docs/recipes/openai-with-fallback.md';
  let isDown = false;
  const openai = await upstreamFor(context, (call, response) => {
    if (isDown) response.writeHead(503).end();
    else return HELLO(call, response);
  });
  const anthropic = await upstreamFor(context, HELLO);
  const page = openPage(context, document, {
    upstreams: { openai: `${openai.url}/v1`, anthropic: anthropic.url },
    environment: { OPENAI_API_KEY: 'openai-key', ANTHROPIC_API_KEY: 'anthropic-key' },
  });
  const [route = ''] = page.lines('polygate');
  assert.match((await page.run(route)).stdout, /^1\topenai\/gpt-5\t.*\n2\tanthropic\/claude-sonnet-5\t.*translated/);
  const { url, key } = await page.start();
  const variables = { POLYGATE_KEY: key };
  const [whole = '', stream = ''] = page.lines('curl');
  const [endpoints = [], attempts = []] = shownHeaders(document);
  for (const line of [whole, stream]) {
    assert.deepEqual(await answeredBy(await curl(line, url, variables)), [endpoints[0], attempts[0]]);
  }
  isDown = true;
  assert.deepEqual(await answeredBy(await curl(whole, url, variables)), [endpoints[1], attempts[1]]);
  assert.deepEqual(await answeredBy(await curl(stream, url, variables)), [endpoints[1], '1']);
  assert.ok(anthropic.calls.every(({ path }) => path === '/v1/messages'));
  assert.equal(anthropic.calls.length, 2);
});

/** What the page says of two headers: while the first provider works, and when it fails. */
function shownHeaders(document: string): string[][] {
  return tableRows(document).map(([, ...cells]) => cells.map((cell) => cell.replaceAll('`', '')));
}

async function answeredBy(response: Response): Promise<(string | null)[]> {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.match(text, /Hel/);
  return ['x-polygate-endpoint', 'x-polygate-attempts'].map((name) => response.headers.get(name));
}

test('keys with budgets for a team', { timeout: 120_000 }, async (context) => {
  const document = 'docs/recipes/team-keys.md';
  const openai = await upstreamFor(context, HELLO);
  const page = openPage(context, document, {
    upstreams: { openai: `${openai.url}/v1` },
    environment: { OPENAI_API_KEY: 'openai-key' },
  });
  const { url } = await page.start();
  const commands = page.lines('polygate');
  const made = commands.filter((line) => line.includes('keys create'));
  const keys: Record<string, string> = {};
  for (const line of made) {
    const name = /--name (\w+)/.exec(line)?.[1] ?? '';
    keys[`${name.toUpperCase()}_KEY`] = (await page.run(line)).stdout.trim();
  }
  assert.deepEqual(Object.keys(keys), ['ANN_KEY', 'CI_KEY']);
  const requests = [
    ...codeIn(document, 'sh')
      .join('\n')
      .matchAll(/^# (\d{3}).*\n(curl .*)$/gm),
  ];
  assert.equal(requests.length, page.lines('curl').length);
  for (const [, status, line = ''] of requests) {
    const response = await curl(line, url, keys);
    assert.equal(String(response.status), status, `${line}: ${await response.text()}`);
  }
  assert.equal(openai.calls.length, 2);
  const rest = commands.filter((line) => !made.includes(line));
  assert.equal(rest.length, 6);
  for (const line of rest) {
    const { stdout } = await page.run(line);
    if (!line.includes('usage')) continue;
    assert.match(stdout, /^ann\topenai\/gpt-5\t1\t/m);
    assert.match(stdout, /^ci\topenai\/gpt-5-mini\t1\t/m);
  }
});

test('a local model', async (context) => {
  const local = await upstreamFor(context, (call, response) => {
    if (call.path !== '/v1/models') return HELLO(call, response);
    answerJson(response, { object: 'list', data: [{ id: 'qwen3-8b', object: 'model', created: 1, owned_by: 'me' }] });
  });
  const page = openPage(context, 'docs/recipes/local-model.md', {
    upstreams: { ollama: `${local.url}/v1`, workstation: `${local.url}/v1` },
  });
  const { url, key } = await page.start();
  const [list = '', ...requests] = page.lines('curl');
  const { data }: Json = await (await curl(list, url, {})).json();
  assert.deepEqual(
    data.map(({ id }: Json) => id),
    ['workstation/qwen3-8b'],
  );
  assert.equal(requests.length, 3);
  for (const line of requests) {
    const response = await curl(line, url, { POLYGATE_KEY: key });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    assert.match(text, /Hello/);
  }
  assert.ok(local.calls.filter(({ method }) => method === 'POST').every(({ body }) => body.model === 'qwen3-8b'));
});

test('a video with a webhook', { timeout: 60_000 }, async (context) => {
  const document = 'docs/recipes/video-with-webhook.md';
  const page = openPage(context, document);
  const [certificate = ''] = page.lines('openssl');
  const [program = '', ...words] = wordsOf(certificate);
  await execute(program, words, { cwd: page.folder });
  const [create = '', secret = ''] = page.lines('polygate');
  const key = (await page.run(create)).stdout.trim();
  const [webhookSecret = ''] = (await page.run(secret)).stdout.split(/\s/);
  const port = await freePort();
  const placed = (text: string): string => text.replaceAll('9443', String(port));
  writeFileSync(join(page.folder, 'receiver.mjs'), placed(codeIn(document, 'js')[0] ?? ''));
  const receiver = spawn(process.execPath, ['receiver.mjs'], {
    cwd: page.folder,
    env: { PATH: process.env.PATH, WEBHOOK_SECRET: webhookSecret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  context.after(() => void receiver.kill());
  const printed: string[] = [];
  receiver.stdout.setEncoding('utf8').on('data', (text: string) => printed.push(...text.trim().split('\n')));
  await once(receiver.stdout, 'data');
  const { url } = await page.start();
  const [task = '', ...looks] = page.lines('curl');
  const created = await curl(placed(task), url, { POLYGATE_KEY: key });
  const { id: video }: Json = await created.json();
  assert.equal(created.status, 202);
  while (printed.length < 2) await once(receiver.stdout, 'data');
  assert.deepEqual(printed, ['ready', `video.generation.completed ${video}`]);
  assert.equal(looks.length, 2);
  for (const line of looks) {
    const look = (): Promise<Response> => curl(line, url, { POLYGATE_KEY: key, VIDEO: video });
    const response = await look();
    assert.equal(response.status, 200);
    if (line.includes('/content')) {
      assert.equal(response.headers.get('content-type'), 'video/mp4');
      assert.equal(parseCurl(line).output, 'boat.mp4');
      continue;
    }
    // The receiver has the webhook a moment before the gateway has its acknowledgement.
    let log = await response.text();
    while (log.includes('"pending"')) log = await (await look()).text();
    assert.match(log, /"ack"/);
  }
  const forged = ['--silent', '--insecure', '--output', '/dev/null', '--write-out', '%{http_code}'];
  const { stdout } = await execute('curl', [
    ...forged,
    '-H',
    'x-service-signature: x',
    '-d',
    '{}',
    `https://localhost:${port}`,
  ]);
  assert.equal(stdout, '400');
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}
