/** The feed of a key's webhooks, and `polygate webhooks listen`, which reads it. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { verifyWebhook } from '../../src/webhooks/verify.ts';
import { program } from '../cli/program.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { sendRaw, startTestGateway } from './harness.ts';
import { eventually, videoClient } from './video-client.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');

async function stage(context: TestContext, options: Parameters<typeof startTestGateway>[1] = {}, callbacks = '') {
  const receiver: Receiver = await startReceiver();
  const gateway = await startTestGateway(
    `admin: { token: ${TOKEN}, port: 0 }
callbacks: { allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)}${callbacks} }`,
    options,
  );
  context.after(() => Promise.all([gateway.close(), receiver.close()]));
  async function makeKey(name: string): Promise<{ key: string; webhook_secret: string }> {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const made = { method: 'POST', path: '/admin/v1/keys', headers, body: JSON.stringify({ name }) };
    return JSON.parse((await sendRaw(gateway.adminUrl, made)).text);
  }
  async function feed(key: string, query = ''): Promise<{ status: number; body: Json; retryAfter: string | null }> {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${gateway.url}/v1/key/webhooks${query}`, { headers });
    const { status } = response;
    return { status, body: await response.json(), retryAfter: response.headers.get('retry-after') };
  }
  return { gateway, receiver, makeKey, feed, hook: `https://127.0.0.1:${receiver.port}/hook` };
}

test('has each webhook of the key as its receiver gets it, after any cursor', async (context) => {
  const clock = createManualClock(Date.now() - 55_000);
  const { gateway, receiver, makeKey, feed, hook } = await stage(context, { clock });
  const { key, webhook_secret: secret } = await makeKey('one');
  const other = await makeKey('other');
  const { body: first } = await feed(key);
  assert.deepEqual(first.data, []);
  const client = videoClient({ ...gateway, clock }, key);
  const ids = [await client.create({ callback_url: hook }), await client.create({ callback_url: hook })].map(
    ({ id }) => id,
  );
  await eventually({ clock }, () => receiver.received.length === 2);
  clock.advance(3000);
  const { body } = await feed(key, `?after=${first.next}`);
  const told = body.data.map((one: Json) => verifyWebhook(one.body, one.headers, secret).id);
  assert.deepEqual(told.toSorted(), ids.toSorted());
  assert.deepEqual(
    body.data.map((one: Json) => one.body).toSorted(),
    receiver.received.map((got) => String(got.body)).toSorted(),
  );
  assert.deepEqual((await feed(key, `?after=${body.next}`)).body, { object: 'list', data: [], next: body.next });
  assert.deepEqual((await feed(key, `?after=${first.next}`)).body.data.length, 2);
  assert.deepEqual((await feed(other.key, `?after=${first.next}`)).body.data, []);
});

test('has the headers that its receiver gets, as has what is shown of a webhook', async (context) => {
  const clock = createManualClock(Date.now() - 55_000);
  const { gateway, receiver, makeKey, feed, hook } = await stage(context, { clock }, ', standard_headers: false');
  const { key } = await makeKey('one');
  const { body: first } = await feed(key);
  const { id } = await videoClient({ ...gateway, clock }, key).create({ callback_url: hook });
  await eventually({ clock }, () => receiver.received.length === 1);
  clock.advance(3000);
  const names = ['content-type', 'x-service-idempotency-key', 'x-service-signature'];
  const sent = receiver.received[0]?.headers ?? {};
  assert.equal(sent['webhook-id'], undefined);
  const [{ headers }] = (await feed(key, `?after=${first.next}`)).body.data;
  const path = `/admin/v1/deliveries/${id}/body`;
  const asked = { method: 'GET', path, headers: { authorization: `Bearer ${TOKEN}` } };
  const shown = JSON.parse((await sendRaw(gateway.adminUrl, asked)).text).data.headers;
  for (const made of [headers, shown]) {
    const lower = Object.entries(made).map(([name, value]) => [name.toLowerCase(), value]);
    assert.deepEqual(
      lower.toSorted(),
      names.map((name) => [name, sent[name]]),
    );
  }
});

test('waits for a bounded time, and in bounded numbers', async (context) => {
  const clock = createManualClock(Date.now());
  const { makeKey, feed } = await stage(context, { clock });
  const { key } = await makeKey('one');
  const other = await makeKey('other');
  const { next } = (await feed(key)).body;
  let ended = 0;
  const waiting = [1, 2].map(() =>
    feed(key, `?after=${next}&wait=25`).finally(() => {
      ended += 1;
    }),
  );
  await eventually({}, async () => (await feed(key, `?after=${next}`)).status === 429);
  assert.equal((await feed(key, `?after=${next}`)).retryAfter, '5');
  assert.equal((await feed(other.key, `?after=${next}`)).status, 200);
  assert.equal(ended, 0);
  await eventually({ clock }, () => ended === 2, 1000);
  for (const { status, body } of await Promise.all(waiting)) assert.deepEqual([status, body.data], [200, []]);
  assert.equal((await feed(key, `?after=${next}`)).status, 200);
  for (const query of ['?after=x', `?after=${next}&wait=26`, `?after=${next}&wait=-1`, '?since=1'])
    assert.equal((await feed(key, query)).status, 400, query);
});

test('polygate webhooks listen verifies, forwards and shows them', { timeout: 120_000 }, async (context) => {
  const { gateway, receiver, makeKey, hook } = await stage(context);
  const { key } = await makeKey('one');
  const { start, run } = program(context);
  const args = ['webhooks', 'listen', '--url', gateway.url];
  assert.match((await run(args)).stderr, /by --key, or in POLYGATE_KEY/);
  assert.match((await run([...args, '--key', 'sk-wrong'])).stderr, /status 401/);
  assert.match((await run(args, { POLYGATE_KEY: 'sk-wrong' })).stderr, /status 401/);

  const forwarded: { headers: Record<string, unknown>; body: string }[] = [];
  const { createServer } = await import('node:http');
  const local = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    forwarded.push({ headers: request.headers, body });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve));
  context.after(() => local.close());
  const address = local.address();
  const target = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook`;
  const listening = start([...args, '--forward', target], { POLYGATE_KEY: key });
  await listening.shows(/Listening for webhooks/);
  const { id } = await videoClient(gateway, key).create({ callback_url: hook });
  const [, event, name] = await listening.shows(/\t(\S+)\t(\S+)\t204\n/, 'stdout');
  assert.deepEqual([event, name], ['video.generation.completed', `${id}-completed`]);
  await eventually({}, () => receiver.received.length === 1);
  assert.deepEqual(
    forwarded.map(({ headers, body }) => [headers['x-service-signature'], body]),
    receiver.received.map(({ headers, body }) => [headers['x-service-signature'], String(body)]),
  );
  listening.signal('SIGINT');
  await listening.ended;
});
