/** A new configuration: providers, models and keys change at once, and what runs goes on as it began. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { needsRestart } from '../../src/gateway/reloadable-parts.ts';
import { configOf } from '../config/sources.ts';
import { hear, WIRES } from '../faults/wires.ts';
import {
  answerJson,
  ask,
  HEADERS,
  PATHS,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';

let first: TestUpstream;
let second: TestUpstream;
let gateway: TestGateway;
const image = Promise.withResolvers<{ bytes: Buffer; type: string }>();
const release = Promise.withResolvers<void>();
const arrived = Promise.withResolvers<UpstreamCall>();

const provider = (url: string, key: string): string =>
  `{ type: openai-compatible, base_url: "${url}/v1", api_key: ${key}, models: [{ id: m }] }`;

before(async () => {
  first = await startUpstream(async (call, response) => {
    if (!call.body.stream) return answerJson(response, WIRES.chat.whole);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(WIRES.chat.head);
    arrived.resolve(call);
    await release.promise;
    response.end(WIRES.chat.text('lo') + WIRES.chat.tail);
  });
  second = await startUpstream((_call, response) => answerJson(response, WIRES.chat.whole));
  gateway = await startTestGateway(`providers: { a: ${provider(first.url, 'old-key')} }`, {
    fetchBytes: () => image.promise,
  });
});

after(async () => {
  await gateway.close();
  await first.close();
  await second.close();
});

describe('a reload while a stream runs', () => {
  let stream: Promise<Response>;

  test('the next call takes the new way', async () => {
    stream = ask(gateway, { protocol: 'chat', model: 'a/m', text: 'hi', stream: true });
    await arrived.promise;
    gateway.reload(`providers: { a: ${provider(second.url, 'new-key')}, b: ${provider(second.url, 'b-key')} }`);
    for (const model of ['a/m', 'b/m']) {
      assert.equal((await ask(gateway, { protocol: 'chat', model, text: 'hi' })).status, 200);
    }
    assert.deepEqual(
      second.calls.map(({ headers }) => headers.authorization),
      ['Bearer new-key', 'Bearer b-key'],
    );
    assert.equal(first.calls.length, 1);
  });

  test('the stream ends as it began', async () => {
    release.resolve();
    const response = await stream;
    assert.deepEqual(hear('chat', await response.text()), { text: 'Hello', success: true });
    assert.equal((await arrived.promise).headers.authorization, 'Bearer old-key');
    assert.equal(await (await arrived.promise).closed, 'finished');
  });

  test('the catalog is the new one, under a new tag', async () => {
    const list = () => fetch(`${gateway.url}/v1/models`);
    const before = await list();
    const ids = ((await before.json()) as Json).data.map(({ id }: Json) => id);
    assert.ok(ids.includes('a/m') && ids.includes('b/m'));
    gateway.reload(`providers: { b: ${provider(second.url, 'b-key')} }`);
    const tag = before.headers.get('etag') ?? assert.fail();
    const now = await fetch(`${gateway.url}/v1/models`, { headers: { 'if-none-match': tag } });
    assert.equal(now.status, 200);
    assert.ok(!((await now.json()) as Json).data.some(({ id }: Json) => id === 'a/m'));
  });

  test('a provider that is gone is unknown', async () => {
    const response = await ask(gateway, { protocol: 'chat', model: 'a/m', text: 'hi' });
    assert.equal(response.status, 404);
  });
});

test('a key of the configuration comes and goes', async () => {
  const other = 'sk-another-key-0123456789';
  const call = () =>
    post(gateway.url + PATHS.chat(), question('chat', 'b/m', 'hi'), { authorization: `Bearer ${other}` });
  const providers = `providers: { b: ${provider(second.url, 'b-key')} }`;
  assert.equal((await call()).status, 401);
  gateway.reload(providers, `{ name: other, key: ${other}, models: ["b/*"] }`);
  assert.equal((await call()).status, 200);
  gateway.reload(providers, `{ name: other, key: ${other}, models: ["a/*"] }`);
  const refused = await call();
  assert.equal(refused.status, 403);
  assert.equal(((await refused.json()) as Json).error.code, 'permission_denied');
  gateway.reload(providers);
  assert.equal((await call()).status, 401);
});

test('no call fails while the configuration changes again and again', async () => {
  const config = (url: string): string => `providers: { b: ${provider(url, 'k')} }`;
  let running = true;
  const reloads = (async () => {
    for (let count = 0; running; count++) {
      gateway.reload(config(count % 2 === 0 ? first.url : second.url));
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  const calls = Array.from({ length: 100 }, async () => {
    const response = await post(gateway.url + PATHS.messages(), question('messages', 'b/m', 'hi'), HEADERS.messages);
    await response.text();
    return response.status;
  });
  const statuses = await Promise.all(calls);
  running = false;
  await reloads;
  assert.deepEqual(new Set(statuses), new Set([200]));
});

test('a call that still waits for an image goes its old way', async () => {
  const config = (key: string): string =>
    `providers: { b: { type: ollama, base_url: "${second.url}/v1", api_key: ${key}, models: [{ id: m }] } }`;
  gateway.reload(config('waiting'));
  const content = [{ type: 'image', source: { type: 'url', url: 'https://example.com/cat' } }];
  const body = { ...question('messages', 'b/m', ''), messages: [{ role: 'user', content }] };
  const call = post(gateway.url + PATHS.messages(), body, HEADERS.messages);
  await ask(gateway, { protocol: 'chat', model: 'b/m', text: 'hi' });
  gateway.reload(config('changed'));
  image.resolve({ bytes: Buffer.from('GIF89a..'), type: 'image/gif' });
  assert.equal((await call).status, 200);
  assert.equal(second.calls.at(-1)?.headers.authorization, 'Bearer waiting');
});

test('models that a provider listed stay while its list cannot be read', async (context) => {
  let status = 200;
  const server = await startUpstream((call, response) => {
    if (!call.path.endsWith('/models')) return answerJson(response, WIRES.chat.whole);
    const price = { prompt: '0.001', completion: '0.002' };
    answerJson(response, { data: [{ id: 'learned', pricing: price }] }, status);
  });
  context.after(() => server.close());
  const base = `{ type: openai-compatible, base_url: "${server.url}/v1", api_key: k, models: discover }`;
  const config = (more = '') => `providers: { d: ${base} }\n${more}`;
  gateway.reload(config());
  const asked = () => ask(gateway, { protocol: 'chat', model: 'd/learned', text: 'hi' });
  assert.equal((await asked()).status, 200);
  status = 503;
  gateway.reload(config('aliases: { mine: d/learned }'));
  const answer = await asked();
  assert.equal(answer.status, 200, await answer.clone().text());
  assert.equal(((await answer.json()) as Json).usage.cost, 0.005);
  const bare = await ask(gateway, { protocol: 'chat', model: 'learned', text: 'hi' });
  assert.equal(bare.status, 200);
  const shown: Json = await (await fetch(`${gateway.url}/v1/models/d`)).json();
  assert.deepEqual(
    shown.data.map(({ id }: Json) => id),
    ['d/learned'],
  );
  gateway.reload(config().replace(base, base.replace('/v1', '/v2')));
  assert.equal((await asked()).status, 503, 'another server has other models');
});

test('settings that differ from the start and need a restart are named', () => {
  const server = 'server: { body_limit: 1MiB, prefixes: { messages: claude } }';
  assert.deepEqual(gateway.reload(server).sort(), ['server.body_limit', 'server.prefixes']);
  assert.deepEqual(gateway.reload(`${server}\nlimits: {}`).sort(), ['server.body_limit', 'server.prefixes']);
  assert.deepEqual(gateway.reload(''), []);
});

test('another database is another place of the data', () => {
  const database = (host: string) => configOf(`data: "postgres://user:a-password@${host}/polygate"`);
  assert.deepEqual(needsRestart(configOf(''), database('a.test')), ['data']);
  assert.deepEqual(needsRestart(database('a.test'), database('b.test')), ['data']);
  assert.deepEqual(needsRestart(database('a.test'), database('a.test')), []);
});

test('a configuration that cannot be used changes nothing', async () => {
  gateway.reload(`providers: { b: ${provider(second.url, 'k')} }`);
  assert.throws(() => gateway.reload('providers: { b: { type: nothing-known } }'));
  assert.equal((await ask(gateway, { protocol: 'chat', model: 'b/m', text: 'hi' })).status, 200);
});
