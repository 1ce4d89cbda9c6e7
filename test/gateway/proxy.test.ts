/** A gateway behind an HTTP proxy: requests to providers and lists of models go through it, and its password stays secret. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from '../cli/program.ts';
import { portOf, startProxy } from '../net/connect-proxy.ts';
import { answerJson, KEY, startTestGateway, startUpstream } from './harness.ts';

const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
};

async function startModelServer() {
  return startUpstream(({ path }, response) =>
    answerJson(response, path.endsWith('/models') ? { object: 'list', data: [{ id: 'm', object: 'model' }] } : ANSWER),
  );
}

test('requests and lists of models go through the proxy to a name that only it knows', async (context) => {
  const upstream = await startModelServer();
  context.after(upstream.close);
  const proxy = await startProxy(context, portOf);
  const { port } = new URL(upstream.url);
  const gateway = await startTestGateway(`
network: { proxy: "http://user:of-the-proxy@127.0.0.1:${proxy.server.port}" }
providers: { far: { type: openai-compatible, base_url: "http://models.example:${port}/v1", api_key: none } }`);
  context.after(gateway.close);
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'far/m', messages: [{ role: 'user', content: 'hi' }] }),
  });
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(upstream.calls.map(({ path }) => path).toSorted(), ['/v1/chat/completions', '/v1/models']);
  assert.ok(proxy.heads.every((head) => head.startsWith(`CONNECT models.example:${port} `)));
  assert.ok(proxy.heads.length > 0);
});

test('a proxy that refuses ends a request with 502, and the log says why without its password', async (context) => {
  const proxy = await startProxy(context, () => 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
  const gateway = await startTestGateway(`
network: { proxy: "http://user:of-the-proxy@127.0.0.1:${proxy.server.port}" }
providers: { far: { type: openai-compatible, base_url: "https://models.example/v1", api_key: none, models: [{ id: m }] } }`);
  context.after(gateway.close);
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'far/m', messages: [{ role: 'user', content: 'hi' }] }),
  });
  const text = await response.text();
  assert.equal(response.status, 502, text);
  assert.doesNotMatch(text, /proxy|407/);
  const log = JSON.stringify(gateway.log);
  assert.match(log, /the proxy refused the connection with status 407/);
  assert.doesNotMatch(log, /of-the-proxy/);
});

test('polygate check asks through the proxy, and shows it without its user', async (context) => {
  const upstream = await startModelServer();
  context.after(upstream.close);
  const proxy = await startProxy(context, portOf);
  const { port } = new URL(upstream.url);
  const { folder, run } = program(context);
  writeFileSync(
    join(folder, 'polygate.yaml'),
    `network: { proxy: "\${HTTPS_PROXY}", no_proxy: [near.example] }
providers: { far: { type: openai-compatible, base_url: "http://models.example:${port}/v1", api_key: none } }\n`,
  );
  const HTTPS_PROXY = `http://user:of-the-proxy@127.0.0.1:${proxy.server.port}`;
  const { code, stdout, stderr } = await run(['check'], { HTTPS_PROXY });
  assert.equal(code, 0, stderr);
  assert.match(stdout, /# far +ready/);
  assert.ok(
    stdout.includes(`  proxy: http://…@127.0.0.1:${proxy.server.port}\n  no_proxy:\n    - near.example\n`),
    stdout,
  );
  assert.doesNotMatch(stdout + stderr, /of-the-proxy|HTTPS_PROXY is set/);
});
