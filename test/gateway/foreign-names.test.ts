/** Names that clients give are asked of the configured name servers only, and lead nowhere that is closed. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { startNameServer } from '../net/name-server.ts';
import { KEY, startTestGateway } from './harness.ts';

async function started(context: TestContext, yaml: string) {
  // An address in public space, which nothing here may be sent to.
  const names = await startNameServer(context, '93.184.215.14');
  const gateway = await startTestGateway(`network: { dns_servers: ["${names.address}"] }
callbacks: { secret: a-secret-of-the-whole-gateway, deny_cidrs: [93.184.215.0/24] }
${yaml}`);
  context.after(gateway.close);
  const post = async (path: string, body: Json) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const response = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, text: await response.text() };
  };
  return { names, post };
}

test('an image that the gateway fetches for a chat', async (context) => {
  const { names, post } = await started(
    context,
    'providers: { g: { type: google, base_url: "http://127.0.0.1:1", api_key: k, models: [{ id: m }] } }',
  );
  const image_url = { url: 'https://pictures.example.org/a' };
  const messages = [{ role: 'user', content: [{ type: 'image_url', image_url }] }];
  const response = await post('/v1/chat/completions', { model: 'g/m', messages });
  assert.equal(response.status, 400, response.text);
  assert.match(response.text, /did not answer properly over the public internet/);
  assert.ok(names.asked.includes('pictures.example.org'));
});

test('the callback of a video', async (context) => {
  const { names, post } = await started(context, '');
  const callback_url = 'https://hooks.example.org/done';
  const response = await post('/v1/videos', { model: 'sandbox/video', prompt: 'a cat', callback_url });
  assert.equal(response.status, 400, response.text);
  assert.equal(JSON.parse(response.text).error.code, 'invalid_callback_url');
  assert.ok(names.asked.includes('hooks.example.org'));
});
