/** The root path, and query parameters that a route does not have. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, startTestGateway, type TestGateway } from './harness.ts';

const TOKEN = 'an-admin-token-of-32-characters-0';

let gateway: TestGateway;

before(async () => {
  gateway = await startTestGateway(`admin: { token: ${TOKEN}, port: 0 }\nserver: { port: 0 }`);
});
after(() => gateway.close());

function get(path: string, { method = 'GET', accept = '*/*' } = {}) {
  return fetch(gateway.url + path, { method, headers: { authorization: `Bearer ${KEY}`, accept } });
}

test('HEAD of the root is quiet', async () => {
  const response = await get('/', { method: 'HEAD' });
  assert.deepEqual([response.status, await response.text()], [204, '']);
});

test('a program gets links that work, a browser a page with the same ones', async () => {
  const { name, links }: Json = await (await get('/')).json();
  assert.equal(name, 'polygate');
  const page = await get('/', { accept: 'text/html,application/xhtml+xml;q=0.9' });
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  const html = await page.text();
  assert.match(html, /It is ready for requests/);
  for (const path of Object.values<string>(links)) {
    assert.ok(html.includes(`href="${path}"`), path);
    assert.equal((await get(path)).status, 200, path);
  }
});

test('another method at the root is refused', async () => {
  assert.equal((await get('/', { method: 'DELETE' })).status, 405);
});

test("a query parameter that a route of the gateway's own API does not have is refused", async () => {
  const cases = [
    ['/v1/usage?form=2026-01-01', 'Unknown query parameter "form"; it takes from, to, by.', 'form'],
    ['/v1/key?verbose=1', 'Unknown query parameter "verbose"; it takes none.', 'verbose'],
    ['/v1/usage?by=model&by=day', 'The query parameter by comes twice; send it once.', 'by'],
    [
      '/v1/videos?limit=1&state=failed',
      /"state"; it takes limit, order, after, status, model, search, .*total, format\./,
      'state',
    ],
  ] as const;
  for (const [path, message, param] of cases) {
    const response = await get(path);
    assert.equal(response.status, 400, path);
    const { error }: Json = await response.json();
    assert.equal(error.param, param);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
  }
  assert.equal((await get('/v1/videos?limit=1&status=failed')).status, 200);
});

test('so is one of the admin API', async () => {
  const ask = (path: string) => fetch(gateway.adminUrl + path, { headers: { authorization: `Bearer ${TOKEN}` } });
  assert.equal((await ask('/admin/v1/usage?by=key')).status, 200);
  const refused = await ask('/admin/v1/usage?modle=x');
  assert.equal(refused.status, 400);
  const { error }: Json = await refused.json();
  assert.match(error.message, /"modle"; it takes key, from, to, by, /);
});

test('parameters that clients of model protocols send are no fault', async () => {
  assert.equal((await get('/v1/models?client=x')).status, 200);
  const response = await fetch(`${gateway.url}/anthropic/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': KEY, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ model: 'echo', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  assert.equal(response.status, 200);
});
