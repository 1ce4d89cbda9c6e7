/**
 * A protocol is one folder and one line: a copy of the source gets a stub protocol beside chat completions, at `/v1/stub`,
 * and a gateway that runs it serves, scopes, routes, relays, records and describes it with nothing else changed.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';

const ROOT = join(import.meta.dirname, '../..');
const KEYS = {
  all: 'sk-stub-all-0123456789abcdef',
  stub: 'sk-stub-only-0123456789abcde',
  chat: 'sk-stub-chat-0123456789abcde',
};

let folder: string;
let child: ChildProcess;
let url: string;
let upstream: Server;
let asked: { url: string | undefined; body: Json }[];

before(async () => {
  asked = [];
  upstream = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    asked.push({ url: request.url, body });
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"id":"s1","model":"real","say":"hello","used":{"in":3,"out":2}}');
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  mkdirSync(join(ROOT, '.node'), { recursive: true });
  folder = mkdtempSync(join(ROOT, '.node/stub-protocol-'));
  cpSync(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  // The folder ...
  mkdirSync(join(folder, 'src/protocols/stub'));
  const stub = readFileSync(join(import.meta.dirname, 'stub-protocol/index.ts'), 'utf8');
  writeFileSync(join(folder, 'src/protocols/stub/index.ts'), stub.replaceAll('../../../src/', '../../'));
  // ... and the line, with its import. A provider that speaks the protocol is data of a test, one line too.
  edit('src/protocols/index.ts', (text) =>
    `import { stub } from './stub/index.ts';\n${text}`.replace('responses];', 'responses, stub];'),
  );
  writeFileSync(join(folder, 'src/providers/stub.ts'), PROVIDER);
  edit('src/providers/index.ts', (text) =>
    `import { stub } from './stub.ts';\n${text}`.replace('  sandbox,\n];', '  sandbox,\n  stub,\n];'),
  );
  const { port } = upstream.address() as AddressInfo;
  writeFileSync(join(folder, 'polygate.yaml'), configuration(port));
  child = spawn(process.execPath, [join(folder, 'src/main.ts'), 'serve', '--port', '0'], {
    cwd: folder,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  url = await listening(child);
});

after(async () => {
  child.kill('SIGTERM');
  await once(child, 'close');
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

const PROVIDER = `/** A server that speaks the stub protocol. */
import { providerType } from './type.ts';
export const stub = providerType({
  id: 'stub', name: 'Stub', dialects: [{ protocol: 'stub' }], environment: [], keyless: true,
  credential: (key: string) => ({ authorization: \`Bearer \${key}\` }),
});
`;

function configuration(port: number): string {
  return `
server: { host: 127.0.0.1, port: 0 }
keys:
  - { name: all, key: ${KEYS.all} }
  - { name: stub, key: ${KEYS.stub}, surfaces: [stub] }
  - { name: chat, key: ${KEYS.chat}, surfaces: [chat] }
providers:
  stub: { type: stub, base_url: "http://127.0.0.1:${port}", models: [{ id: real, pricing: { prompt: "0.1", completion: "0.1" } }] }
`;
}

function edit(file: string, change: (text: string) => string): void {
  const path = join(folder, file);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

async function listening(program: ChildProcess): Promise<string> {
  let output = '';
  for (const stream of [program.stdout, program.stderr])
    stream?.setEncoding('utf8').on('data', (text) => (output += text));
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline && program.exitCode === null) {
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output);
    if (found) return found[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`The gateway did not start: ${output}`);
}

async function call(path: string, { key = KEYS.all, body }: { key?: string; body?: object } = {}) {
  const response = await fetch(url + path, {
    method: body ? 'POST' : 'GET',
    headers: { 'x-stub-key': key, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}

test('its route beside chat completions is its own, is relayed, and names the model as the gateway does', async () => {
  const { status, headers, body } = await call('/v1/stub', { body: { model: 'stub/real', ask: 'hi' } });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body, { id: 's1', model: 'stub/real', say: 'hello', used: { in: 3, out: 2 } });
  assert.deepEqual(asked.at(-1), { url: '/stub', body: { model: 'real', ask: 'hi' } });
  assert.equal(headers.get('x-polygate-path'), 'passthrough');
  assert.ok(headers.get('stub-request-id'), 'its own header of the request id');
});

test('its errors are in its own shape', async () => {
  const { status, body } = await call('/v1/stub', { body: { model: 'stub/real' } });
  assert.equal(status, 400);
  assert.match(body.problem, /ask/);
});

test('keys are scoped to it', async () => {
  const body = { model: 'stub/real', ask: 'hi' };
  assert.equal((await call('/v1/stub', { key: KEYS.stub, body })).status, 200);
  assert.equal((await call('/v1/stub', { key: KEYS.chat, body })).status, 403);
  const chat = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'x' }] };
  assert.equal((await call('/v1/chat/completions', { key: KEYS.stub, body: chat })).status, 403);
  assert.equal((await call('/v1/chat/completions', { key: KEYS.chat, body: chat })).status, 200);
});

test('requests are recorded with usage and cost', async () => {
  const { headers } = await call('/v1/stub', { body: { model: 'stub/real', ask: 'hi' } });
  assert.equal(headers.get('x-polygate-cost'), '0.5');
  const { body } = await call(`/v1/generation?id=${headers.get('x-polygate-generation-id')}`);
  assert.deepEqual([body.data.tokens_prompt, body.data.tokens_completion, body.data.api_type], [3, 2, 'stubs']);
});

test('it is translated to and from the other protocols', async () => {
  const told = await call('/v1/stub', { body: { model: 'sandbox/echo', ask: 'echo this' } });
  assert.equal(told.body.say, 'echo this');
  const chat = { model: 'stub/real', messages: [{ role: 'user', content: 'hi' }] };
  const answered = await call('/v1/chat/completions', { body: chat });
  assert.equal(answered.body.choices[0].message.content, 'hello');
});

test('it is described in /openapi.json', async () => {
  const { body } = await call('/openapi.json');
  assert.equal(body.paths['/v1/stub'].post.tags[0], 'stub');
});
