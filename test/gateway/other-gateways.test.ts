/** Headers of other gateways: those that mean the same here count, and none of them reaches an upstream. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useRig } from '../conformance/rig.ts';
import { HEADERS, PATHS, post, question } from './harness.ts';

const rig = useRig();

function ask(headers: Record<string, string>, change: object = {}): Promise<Response> {
  const body = { ...question('chat', 'm', 'Hello'), ...change };
  return post(`${rig.gateway.url}${PATHS.chat()}`, body, { ...HEADERS.chat, ...headers });
}

test("Portkey's header for the provider chooses it, for a bare name too", async () => {
  for (const [header, endpoint] of [
    ['a', 'a/m'],
    ['b', 'b/m'],
    ['@c', 'c/m'],
  ] as const) {
    const response = await ask({ 'x-portkey-provider': header });
    assert.equal(response.status, 200, await response.text());
    assert.equal(response.headers.get('x-polygate-endpoint'), endpoint);
  }
});

test('a provider that is not there, and one that has not the model, are errors that name the header', async () => {
  const unknown = await ask({ 'x-portkey-provider': 'bedrock' });
  assert.equal(unknown.status, 400);
  assert.match(await unknown.text(), /x-portkey-provider: there is no provider \\"bedrock\\"/);
  assert.equal((await ask({ 'x-portkey-provider': 'b' }, { model: 'a/m' })).status >= 400, true);
  assert.equal(rig.upstream.calls.length, 0);
});

test('no header of another gateway reaches an upstream', async () => {
  const headers = {
    'x-portkey-api-key': 'pk-secret',
    'x-portkey-metadata': '{"_user":"secret-user"}',
    'x-portkey-trace-id': 'secret-trace',
    'x-portkey-config': 'pc-secret',
    'x-portkey-virtual-key': 'vk-secret',
    'HTTP-Referer': 'https://secret.example',
    'X-Title': 'secret title',
    'X-OpenRouter-Title': 'secret title',
    'x-litellm-tags': 'secret-tag',
    'x-litellm-timeout': '5',
  };
  for (const model of ['a/m', 'b/m', 'c/m']) {
    rig.upstream.calls.length = 0;
    assert.equal((await ask(headers, { model })).status, 200);
    const sent = rig.sent();
    assert.ok(!JSON.stringify(sent.headers).includes('secret'), JSON.stringify(sent.headers));
    assert.ok(!sent.bytes.includes('secret'));
  }
});
