/** Video tasks and webhooks of all keys in the admin API. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { decimalOf, moneyOf } from '../../src/core/money.ts';
import { verifyWebhook } from '../../src/webhooks/verify.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { ADMIN_CONFIG, ADMIN_TOKEN, type AdminAnswer, askAdmin } from './admin-client.ts';
import { openBrowser } from './browser.ts';
import { sendRaw, startTestGateway, type TestGateway } from './harness.ts';
import { createVideoClock, eventually, type VideoClient, videoClient } from './video-client.ts';

const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');
const CALLBACKS = `callbacks: { secret: a-secret-of-the-whole-gateway, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }\n`;
const ABSENT = '00000000-0000-4000-8000-000000000000';

let gateway: TestGateway;
let receiver: Receiver;
/** Two keys, and a task of each; the oldest task first. */
const keys: { hash: string; key: string }[] = [];
const ids: string[] = [];

const admin = (method: string, path: string, body?: Json): Promise<AdminAnswer> =>
  askAdmin(gateway.adminUrl, method, path, body);

before(async () => {
  receiver = await startReceiver();
  gateway = await startTestGateway(ADMIN_CONFIG + CALLBACKS, { clock: createVideoClock() });
  for (const name of ['one', 'two']) {
    const { body } = await admin('POST', '/keys', { name });
    keys.push({ hash: body.data.hash, key: body.key });
  }
  for (const [index, { key }] of keys.entries()) {
    const client = videoClient(gateway, key);
    const callback_url = `https://127.0.0.1:${receiver.port}/${index}`;
    const { id } = await client.create({ prompt: `a cat ${index}`, callback_url });
    await client.until(id, 'completed');
    ids.push(id);
  }
  const state = async () => (await admin('GET', '/deliveries')).body.data.map(({ state }: Json) => state);
  await eventually(gateway, async () => (await state()).every((one: string) => one === 'delivered'));
});
after(async () => {
  await gateway.close();
  await receiver.close();
});

function sumOf(tasks: readonly Json[], field: 'video_seconds'): number {
  return tasks.reduce((sum, { usage }) => sum + usage[field], 0);
}

/** All entries of a list, page by page. */
async function pages(path: string): Promise<Json[]> {
  const all: Json[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const { status, body }: AdminAnswer = await admin('GET', `${path}${next === '' ? '' : `&after=${next}`}`);
    assert.equal(status, 200, JSON.stringify(body));
    all.push(...body.data);
    next = body.next;
  }
  return all;
}

describe('video tasks', () => {
  test('of all keys are listed with their keys, newest first, in pages', async () => {
    const tasks = await pages('/videos?limit=1');
    assert.deepEqual(
      tasks.map(({ id, key, key_name }) => [id, key, key_name]),
      [
        [ids[1], keys[1]?.hash, 'two'],
        [ids[0], keys[0]?.hash, 'one'],
      ],
    );
  });

  test('are filtered by key, status and model', async () => {
    const found = async (query: string) => (await pages(`/videos?${query}`)).map(({ id }) => id);
    assert.deepEqual(await found(`key=${keys[0]?.hash}`), [ids[0]]);
    assert.deepEqual(await found('status=failed'), []);
    assert.deepEqual(await found('status=completed&model=sandbox/video'), ids.toReversed());
  });

  test('are counted by state and by model, with what they made and cost, also for their own key', async () => {
    const [{ key = '', hash = '' } = {}] = keys;
    const { data } = (await admin('GET', '/videos/summary')).body;
    const listed = await pages('/videos?limit=100');
    const cost = listed.reduce((sum, { usage }) => sum + moneyOf(usage.video_cost), 0n);
    assert.deepEqual([data.tasks, data.states.completed, data.states.failed, data.complete], [2, 2, 0, true]);
    assert.deepEqual([data.cost, data.seconds], [decimalOf(cost), sumOf(listed, 'video_seconds')]);
    assert.deepEqual(data.models, [{ model: 'sandbox/video', tasks: 2, cost: data.cost, seconds: data.seconds }]);
    assert.equal((await admin('GET', '/videos/summary?model=none')).body.data.tasks, 0);
    const own = (await admin('GET', `/videos/summary?key=${hash}`)).body;
    assert.equal(own.data.tasks, 1);
    const { body } = await videoClient(gateway, key).send('GET', '/v1/self/videos/summary');
    assert.deepEqual(body, own);
  });

  test('are read, cancelled and deleted for any key', async () => {
    const [{ key = '', hash = '' } = {}] = keys;
    const client = videoClient(gateway, key);
    const { id } = await client.create({ prompt: 'hang' });
    assert.deepEqual((await admin('GET', `/videos/${id}`)).body.data.key, hash);
    const early = await admin('DELETE', `/videos/${id}`);
    assert.equal(early.body.error.code, 'video_not_terminal');
    await admin('POST', `/videos/${id}/cancel`);
    await client.until(id, 'cancelled');
    assert.equal((await admin('DELETE', `/videos/${id}`)).body.data.deleted, true);
    assert.equal((await client.send('GET', `/v1/videos/${id}`)).status, 404);
  });
});

describe('a video of any key', () => {
  test('is downloaded, whole and as a range', async () => {
    const address = `${gateway.adminUrl}/admin/v1/videos/${ids[0]}/content`;
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const whole = Buffer.from(await (await fetch(address, { headers })).arrayBuffer());
    const part = await fetch(`${address}?index=0`, { headers: { ...headers, range: 'bytes=4-7' } });
    assert.equal(part.status, 206);
    assert.equal(part.headers.get('content-range'), `bytes 4-7/${whole.length}`);
    assert.equal(await part.text(), 'ftyp');
    assert.equal((await fetch(`${address}?index=1`, { headers })).status, 400);
    assert.equal((await fetch(address)).status, 401);
  });

  test('says how its provider got it', async () => {
    const { submission } = (await admin('GET', `/videos/${ids[0]}`)).body.data;
    assert.deepEqual([submission.provider, submission.state], ['sandbox', 'accepted']);
    assert.ok(submission.sent_at <= submission.accepted_at);
  });
});

describe('webhooks', () => {
  test('of all keys are listed with attempts and keys, newest first, in pages', async () => {
    const deliveries = await pages('/deliveries?limit=1');
    assert.deepEqual(
      deliveries.map(({ task_id, key, key_name, attempts }) => [task_id, key, key_name, attempts[0].outcome]),
      [
        [ids[1], keys[1]?.hash, 'two', 'ack'],
        [ids[0], keys[0]?.hash, 'one', 'ack'],
      ],
    );
    assert.equal((await admin('GET', `/deliveries/${ids[0]}`)).body.data.key_name, 'one');
  });

  test('are filtered by key, state, host and outcome', async () => {
    const found = async (query: string) => (await pages(`/deliveries?${query}`)).map(({ task_id }) => task_id);
    assert.deepEqual(await found(`key=${keys[1]?.hash}`), [ids[1]]);
    assert.deepEqual(await found('state=pending'), []);
    assert.deepEqual(await found(`state=delivered&host=127.0.0.1:${receiver.port}`), ids.toReversed());
    assert.deepEqual(await found('host=127.0.0.1'), []);
    assert.deepEqual(await found('outcome=ack&limit=1'), ids.toReversed());
    assert.deepEqual(await found('outcome=timeout'), []);
  });

  test('show the bytes that were sent', async () => {
    const { body } = await admin('GET', `/deliveries/${ids[0]}/body`);
    const sent = receiver.received.find(
      ({ headers }) => headers['x-service-idempotency-key'] === `${ids[0]}-completed`,
    );
    assert.equal(body.data.body, sent?.body.toString());
    const names = ['x-service-signature', 'x-service-idempotency-key', 'content-type', 'webhook-id'];
    const shown = new Headers(body.data.headers);
    for (const name of names) assert.equal(shown.get(name), sent?.headers[name], name);
  });

  test('show headers that are made with the secret of today', async () => {
    const { body: rotated } = await admin('POST', `/keys/${keys[1]?.hash}/webhook-secret/rotate`, { activate_in: 0 });
    const { data } = (await admin('GET', `/deliveries/${ids[1]}/body`)).body;
    assert.equal(verifyWebhook(data.body, new Headers(data.headers), rotated.data.secret).id, ids[1]);
    const sent = receiver.received.find(({ headers }) => headers['webhook-id'] === `${ids[1]}-completed`);
    assert.notEqual(new Headers(data.headers).get('x-service-signature'), sent?.headers['x-service-signature']);
  });

  test('are shown without signatures to those who may not read secrets', async () => {
    const [{ hash = '', key = '' } = {}] = keys;
    const signatures = ['x-service-signature', 'webhook-signature'];
    const linked = await sendRaw(gateway.adminUrl, {
      method: 'POST',
      path: '/ui/session/links',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ role: 'viewer' }),
    });
    const viewer = openBrowser(gateway.adminUrl);
    await viewer.login({ code: JSON.parse(linked.text).data.url.split('code=')[1] });
    const { data } = (await viewer.send('GET', `/admin/v1/deliveries/${ids[0]}/body`)).json;
    const { data: whole } = (await admin('GET', `/deliveries/${ids[0]}/body`)).body;
    assert.equal(data.body, whole.body);
    const missing = Object.keys(whole.headers).filter((name) => !(name in data.headers));
    assert.deepEqual(
      missing.map((name) => name.toLowerCase()),
      signatures,
    );
    await admin('PATCH', `/keys/${hash}`, { read_only: true });
    const reader = videoClient(gateway, key);
    const own = await reader.send('GET', `/v1/self/deliveries/${ids[0]}/body`);
    assert.deepEqual(own.body.data, data);
    assert.equal((await reader.send('GET', '/v1/key/webhooks')).status, 403);
    await admin('PATCH', `/keys/${hash}`, { read_only: false });
    assert.deepEqual((await reader.send('GET', `/v1/self/deliveries/${ids[0]}/body`)).body.data, whole);
  });

  test('are counted by receiver', async () => {
    const { body } = await admin('GET', '/deliveries/receivers');
    const [{ last_delivered_at: last, ...figures }] = body.data;
    const counts = { delivered: 2, pending: 0, exhausted: 0, failing_since: null };
    assert.deepEqual([figures, body.complete], [{ host: `127.0.0.1:${receiver.port}`, ...counts }, true]);
    assert.match(last, /^20/);
  });

  test('are counted by receiver in a span of their creation', async () => {
    const { data } = (await admin('GET', '/deliveries?state=delivered')).body;
    const [newest, oldest] = data.map(({ created_at: at }: Json) => at);
    assert.ok(newest > oldest);
    const delivered = async (span: string) =>
      (await admin('GET', `/deliveries/receivers?${span}`)).body.data.map((one: Json) => one.delivered);
    assert.deepEqual(await delivered(`from=${newest}`), [1]);
    assert.deepEqual(await delivered(`from=${oldest}&to=${newest}`), [1]);
    assert.deepEqual(await delivered(`from=${oldest}`), [2]);
    assert.deepEqual(await delivered(`to=${oldest}`), []);
    assert.equal((await admin('GET', `/deliveries/receivers?from=${newest}&to=${oldest}`)).status, 400);
    const own = videoClient(gateway, String(keys[0]?.key));
    assert.deepEqual((await own.send('GET', `/v1/self/deliveries/receivers?to=${oldest}`)).body.data, []);
  });

  test('are shown to their own key, without addresses, and to no other', async () => {
    const [one, two] = keys.map(({ key }) => videoClient(gateway, key)) as [VideoClient, VideoClient];
    const { body } = await one.send('GET', '/v1/self/deliveries?state=delivered');
    assert.deepEqual(
      body.data.map(({ task_id }: Json) => task_id),
      [ids[0]],
    );
    assert.equal(body.data[0].key, undefined);
    assert.deepEqual(Object.keys(body.data[0].attempts[0]).toSorted(), [
      ...['ended_at', 'n', 'next_attempt_at', 'outcome', 'started_at', 'status', 'trigger'],
    ]);
    const path = `/v1/self/deliveries/${ids[0]}/body`;
    assert.match((await one.send('GET', path)).body.data.body, /video.generation.completed/);
    assert.equal((await two.send('GET', path)).status, 404);
    assert.equal((await two.send('GET', `/v1/self/deliveries/${ids[0]}`)).status, 404);
    assert.equal((await one.send('GET', `/v1/self/deliveries/${ids[0]}`)).body.data.state, 'delivered');
    assert.equal((await one.send('GET', '/v1/self/deliveries/receivers')).body.data[0].delivered, 1);
  });

  test('of one key are a list with cursors, too', async () => {
    const [{ key = '', hash = '' } = {}] = keys;
    const client = videoClient(gateway, key);
    const { id } = await client.create({ prompt: 'a dog', callback_url: `https://127.0.0.1:${receiver.port}/more` });
    const path = `/keys/${hash}/deliveries?limit=1`;
    await eventually(gateway, async () => (await pages(path)).length === 2);
    assert.deepEqual(
      (await pages(path)).map(({ task_id, attempts }) => [task_id, attempts.length <= 1]),
      [
        [id, true],
        [ids[0], true],
      ],
    );
    assert.equal((await admin('GET', `/keys/${hash}/deliveries?before=5`)).status, 400);
    await client.until(id, 'completed');
    await eventually(gateway, async () => (await pages(path))[0]?.state === 'delivered');
    await admin('DELETE', `/videos/${id}`);
  });

  test('of a receiver that fails have the time since when, until one is delivered', async () => {
    let status = 500;
    const failing = await startReceiver((response) => response.writeHead(status).end());
    const client = videoClient(gateway, String(keys[0]?.key));
    const callback_url = `https://127.0.0.1:${failing.port}/hook`;
    const { id } = await client.create({ prompt: 'a cat', callback_url });
    const figures = async () =>
      (await admin('GET', '/deliveries/receivers')).body.data.find(({ host }: Json) =>
        host.endsWith(`:${failing.port}`),
      );
    await eventually(gateway, async () => typeof (await figures())?.failing_since === 'string');
    const { data } = (await admin('GET', `/deliveries/${id}`)).body;
    assert.deepEqual([(await figures()).failing_since, data.attempts[0].status], [data.created_at, 500]);
    status = 200;
    // The next attempt of the schedule may be under way.
    await eventually(gateway, async () => (await admin('POST', `/deliveries/${id}/replay`)).status === 202);
    await eventually(gateway, async () => (await figures()).failing_since === null);
    await failing.close();
    await admin('DELETE', `/videos/${id}`);
  });
});

describe('a request that makes no sense', () => {
  const cases: [path: string, status: number, message: RegExp][] = [
    ['/videos?status=done', 400, /status must be one of queued/],
    ['/videos?after=x', 400, /after must be/],
    [`/videos?after=${ABSENT}`, 400, /after must be/],
    ['/videos?limit=0', 400, /limit must be/],
    ['/videos?owner=x', 400, /owner/],
    ['/videos/x', 404, /no video task/],
    [`/videos/${ABSENT}`, 404, /no video task/],
    ['/deliveries?state=lost', 400, /state must be one of pending/],
    ['/deliveries?outcome=lost', 400, /outcome must be one of ack/],
    ['/deliveries?after=%00', 400, /after must be/],
    [`/deliveries/${ABSENT}/body`, 404, /no webhook/],
  ];
  for (const [path, status, message] of cases) {
    test(`is refused: ${path}`, async () => {
      const answer = await admin('GET', path);
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.match(answer.body.error.message, message);
    });
  }
});
