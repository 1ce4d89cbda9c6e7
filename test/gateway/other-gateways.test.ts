/** Headers of other gateways: those that mean the same here count, and none of them reaches an upstream. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { redactHeaders } from '../../src/inference/capture/redaction.ts';
import { IDS, MODELS, useRig } from '../conformance/rig.ts';
import { HEADERS, KEY, PATHS, type ProtocolId, post, question, type RawResponse, sendRaw } from './harness.ts';

const rig = useRig({ yaml: 'server: { trusted_proxies: ["127.0.0.0/8"] }' });

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
  const unknown = await ask({ 'x-portkey-provider': 'sagemaker' });
  assert.equal(unknown.status, 400);
  assert.match(await unknown.text(), /x-portkey-provider: there is no provider \\"sagemaker\\"/);
  assert.equal((await ask({ 'x-portkey-provider': 'b' }, { model: 'a/m' })).status >= 400, true);
  assert.equal(rig.upstream.calls.length, 0);
});

test('no header of another gateway reaches an upstream', async () => {
  const headers = {
    'x-portkey-metadata': '{"_user":"secret-user"}',
    'x-portkey-trace-id': 'secret-trace',
    'x-portkey-config': 'pc-secret',
    'x-portkey-virtual-key': 'vk-secret',
    'HTTP-Referer': 'https://secret.example',
    'X-Title': 'secret title',
    'X-OpenRouter-Title': 'secret title',
    'x-litellm-tags': 'secret-tag',
    'x-litellm-session-id': 'secret-session',
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

/** A request whose only credentials are in `headers`. */
function askWith(protocol: ProtocolId, headers: Record<string, string>, from = '203.0.113.1'): Promise<RawResponse> {
  const own = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-forwarded-for': from };
  const path = PATHS[protocol](MODELS[protocol], false);
  const body = JSON.stringify(question(protocol, MODELS[protocol], 'Hello'));
  return sendRaw(rig.gateway.url, { method: 'POST', path, headers: { ...own, ...headers }, body });
}

for (const name of ['x-litellm-api-key', 'x-portkey-api-key']) {
  describe(`the gateway's key in ${name}`, () => {
    for (const protocol of IDS) {
      test(`counts on ${protocol}, with Bearer and without, and reaches no upstream`, async () => {
        for (const value of [KEY, `Bearer ${KEY}`, ` bearer  ${KEY} `]) {
          rig.upstream.calls.length = 0;
          const response = await askWith(protocol, { [name]: value });
          assert.equal(response.status, 200, response.text);
          const { headers, bytes, path } = rig.sent();
          assert.equal(headers[name], undefined);
          for (const sent of [JSON.stringify(headers), bytes.toString(), path]) assert.ok(!sent.includes(KEY), sent);
        }
      });
    }

    test('may come beside the same key elsewhere, and not beside another', async () => {
      assert.equal((await askWith('chat', { [name]: KEY, authorization: `Bearer ${KEY}` })).status, 200);
      assert.equal((await askWith('chat', { [name]: '', authorization: `Bearer ${KEY}` })).status, 200);
      for (const other of [
        { [name]: 'sk-other-0123456789', authorization: `Bearer ${KEY}` },
        { [name]: KEY, authorization: 'Bearer sk-other-0123456789' },
      ]) {
        const response = await askWith('chat', other);
        assert.equal(response.status, 401, JSON.stringify(other));
        assert.equal(response.headers['x-polygate-error'], 'invalid_api_key');
        assert.match(response.text, /send one/);
      }
    });

    test('is neither in the log nor in captures', async () => {
      const wrong = 'sk-litellm-canary-0123456789';
      for (const value of [KEY, wrong, `Bearer ${wrong}`]) await askWith('chat', { [name]: value });
      const log = JSON.stringify(rig.gateway.log);
      assert.match(log, /refused/);
      assert.ok(!log.includes(wrong) && !log.includes(KEY));
      assert.deepEqual(redactHeaders({ [name]: KEY }), { [name]: '***' });
    });

    test('that is wrong again and again has to wait, as elsewhere', async () => {
      const from = name === 'x-litellm-api-key' ? '203.0.113.11' : '203.0.113.12';
      const statuses = new Set<number | undefined>();
      for (let attempt = 0; attempt < 30; attempt++) {
        statuses.add((await askWith('chat', { [name]: `sk-wrong-${attempt}` }, from)).status);
      }
      assert.deepEqual([...statuses], [401]);
      assert.equal((await askWith('chat', { [name]: 'sk-wrong' }, from)).status, 429);
      assert.equal((await askWith('chat', { [name]: KEY }, from)).status, 200);
    });
  });
}
