/** A reader that leaves early, such as `head`, is no failure, nor is a log that cannot be written. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

import { freePort } from '../chaos/gateway.ts';

const main = join(import.meta.dirname, '../../src/main.ts');

test('a list exits quietly when its pipe is closed', async () => {
  const child = spawn(process.execPath, [main, 'models'], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.equal(errors, '');
  assert.equal(code, 0);
});

test('a list that goes on ends when its pipe is closed', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-tail-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const key = 'sk-of-a-test-0123456789';
  const port = await freePort();
  const config = `server: { port: ${port} }\ndata: ${folder}\nkeys: [{ name: ci, key: ${key} }]\n`;
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, POLYGATE_CONFIG: config };
  const gateway = spawn(process.execPath, [main, 'serve'], { env, stdio: 'ignore' });
  context.after(() => gateway.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  while ((await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200) assert.equal(gateway.exitCode, null);
  const ask = async () => {
    const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'hi' }] });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    assert.equal((await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })).status, 200);
  };
  await ask();
  const child = spawn(process.execPath, [main, 'tail'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  context.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const ended = Promise.all([text(child.stderr), once(child, 'close')]);
  await ask();
  const [errors, [code]] = await ended;
  assert.deepEqual([errors, code], ['', 0]);
});

test('a list of webhooks ends with the first one that nobody reads', async (context) => {
  let hooks = 0;
  const gateway = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://gateway');
    if (pathname.endsWith('/webhook-secret')) return void response.end('{"data":[]}');
    const wait = searchParams.get('wait');
    if (wait === null) return void response.end('{"next":"0"}');
    // The next one comes when the first was read.
    if (hooks > 1) return;
    hooks += 1;
    response.end(
      JSON.stringify({
        data: [{ id: 'a', headers: {}, body: '{"event":"video.generation.completed"}' }],
        next: String(hooks),
      }),
    );
  });
  await once(gateway.listen(0, '127.0.0.1'), 'listening');
  context.after(() => {
    gateway.closeAllConnections();
    gateway.close();
  });
  const { port } = gateway.address() as AddressInfo;
  const child = spawn(
    process.execPath,
    [main, 'webhooks', 'listen', '--url', `http://127.0.0.1:${port}`, '--key', 'k'],
    {
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  context.after(() => child.kill('SIGKILL'));
  child.stdout.destroy();
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.match(errors, /^Listening for webhooks of .*\n$/);
  assert.equal(code, 0);
});

test('a gateway keeps running when its log is on a full disk', {
  skip: !existsSync('/dev/full') && 'this machine has no /dev/full',
}, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'polygate-full-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const full = openSync('/dev/full', 'w');
  const port = await freePort();
  const child = spawn(process.execPath, [main, 'serve', '--port', String(port)], {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    stdio: ['ignore', 'ignore', full],
  });
  closeSync(full);
  context.after(() => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  while ((await fetch(`${url}/readyz`).catch(() => undefined))?.status !== 200) assert.equal(child.exitCode, null);
  for (let time = 0; time < 3; time++) {
    assert.equal((await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{}' })).status, 401);
  }
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});
