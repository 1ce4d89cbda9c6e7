/** The end of the gateway: what it waits for, and what it doesn't. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryData } from '../store/stores.ts';
import { answerJson, ask, HEADERS, PATHS, question, startTestGateway, startUpstream } from './harness.ts';

test('closing waits for no connection on which nothing was asked', { timeout: 10_000 }, async (context) => {
  const gateway = await startTestGateway();
  const { hostname, port } = new URL(gateway.url);
  const spare = connect(Number(port), hostname);
  context.after(() => spare.destroy());
  await once(spare, 'connect');
  const ended = once(spare, 'close');
  // An answer to a later connection shows that the gateway has taken the spare one.
  const response = await ask(gateway, { protocol: 'chat', model: 'sandbox/echo', text: 'hi' });
  assert.equal(response.status, 200);
  await response.text();
  await gateway.close();
  await ended;
});

test('closing lets a running answer finish, and waits no longer for its kept-alive connection', {
  timeout: 10_000,
}, async () => {
  let finish: () => void = () => assert.fail('nobody asked');
  const upstream = await startUpstream((_call, response) => {
    finish = () =>
      answerJson(response, {
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'late' }, finish_reason: 'stop' }],
      });
  });
  const gateway = await startTestGateway(
    `providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] } }`,
  );
  const agent = new Agent({ keepAlive: true });
  const answered = new Promise<string>((resolve, reject) => {
    const body = JSON.stringify(question('chat', 'a/m', 'hi'));
    const headers = { ...HEADERS.chat, 'content-type': 'application/json' };
    request(gateway.url + PATHS.chat(), { method: 'POST', agent, headers }, async (response) => {
      resolve(Buffer.concat(await response.toArray()).toString());
    })
      .on('error', reject)
      .end(body);
  });
  while (upstream.calls.length === 0) await new Promise(setImmediate);
  const closed = gateway.close();
  finish();
  assert.match(await answered, /late/);
  await closed;
  agent.destroy();
  await upstream.close();
});

test('closing ends what runs longer than its grace, in words that the client understands', {
  timeout: 10_000,
}, async () => {
  const gateway = await startTestGateway();
  const errors = { chat: /"error":\{[^}]*"code":/, messages: /event: error\n/, generate: /"status":"UNAVAILABLE"/ };
  const asked = (['chat', 'messages', 'generate'] as const).map(async (protocol) => {
    const response = await ask(gateway, { protocol, model: 'sandbox/faulty', text: 'hang after 2', stream: true });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    return { protocol, reader, text: Buffer.from(first?.value ?? '').toString() };
  });
  const streams = await Promise.all(asked);
  const closed = gateway.stop(100);
  for (const { protocol, reader, text } of streams) {
    let whole = text;
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      whole += Buffer.from(part.value).toString();
    }
    assert.match(whole, errors[protocol]);
    assert.match(whole, /The gateway was stopped before the end/);
    assert.ok(!whole.includes('[DONE]') || protocol === 'chat', whole);
  }
  await closed;
});

test('a request that arrives on an open connection while the gateway closes is refused in its protocol', {
  timeout: 10_000,
}, async (context) => {
  let finish: () => void = () => assert.fail('nobody asked');
  const upstream = await startUpstream((_call, response) => {
    finish = () =>
      answerJson(response, {
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'late' }, finish_reason: 'stop' }],
      });
  });
  context.after(upstream.close);
  const gateway = await startTestGateway(
    `providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] } }`,
  );
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  context.after(() => socket.destroy());
  const received = socket.setEncoding('latin1').toArray();
  const body = JSON.stringify(question('chat', 'a/m', 'hi'));
  const headers = Object.entries({ host: hostname, ...HEADERS.chat, 'content-length': String(body.length) });
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  socket.write(`POST ${PATHS.chat()} HTTP/1.1\r\n${head}content-type: application/json\r\n\r\n${body}`);
  while (upstream.calls.length === 0) await new Promise(setImmediate);
  const closed = gateway.close();
  socket.write(`GET ${PATHS.chat()} HTTP/1.1\r\n${head}\r\n${body}`);
  await new Promise((resolve) => setTimeout(resolve, 50));
  finish();
  const [, first = '', second = ''] = (await received).join('').split('HTTP/1.1 ');
  assert.match(first, /^200 /);
  assert.match(first, /late/);
  assert.match(second, /^503 /);
  assert.match(second, /connection: close/i);
  assert.match(second, /x-polygate-error: unavailable/);
  await closed;
});

test('a start that fails leaves nothing behind, wherever it fails, and waits for no provider', {
  timeout: 30_000,
}, async (context) => {
  const program = join(import.meta.dirname, 'failing-start.ts');
  const child = spawn(process.execPath, [program, temporaryData(context)], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const lines = (await child.stdout.setEncoding('utf8').toArray()).join('').trim().split('\n');
  assert.deepEqual(await ended, [0, null]);
  const away = 'The gateway cannot reach its store at the moment; try again shortly.';
  const problems = new Map<string, string>();
  for (const { place, problem, ...left } of lines.map((line) => JSON.parse(line))) {
    problems.set(place, problem.replaceAll(/127[.:\d]+/g, 'HOST'));
    assert.deepEqual(left, { timers: 0, journal: '1' }, place);
  }
  assert.deepEqual(Object.fromEntries(problems), {
    encryption: away,
    heartbeat: away,
    recovery: away,
    journal: away,
    'abandoned journal': away,
    tags: away,
    address: 'listen EADDRINUSE: address already in use HOST',
    admin: 'admin: HOST cannot be listened on: it is in use.',
    tasks: away,
    'a record that waits': away,
  });
});
