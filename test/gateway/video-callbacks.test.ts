/** The end of a task is told once, in the words of its own route, and may be told again. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { startTestGateway, type TestGateway } from './harness.ts';
import { createVideoClock, eventually, VIDEO, type VideoClient, videoClient } from './video-client.ts';

const SECRET = 'a-secret-of-the-whole-gateway';
const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');

let gateway: TestGateway;
let client: VideoClient;
let receiver: Receiver;

before(async () => {
  receiver = await startReceiver();
  gateway = await startTestGateway(
    `callbacks: { secret: ${SECRET}, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }`,
    { clock: createVideoClock() },
  );
  client = videoClient(gateway);
});
after(async () => {
  await gateway.close();
  await receiver.close();
});

const hook = (path: string) => `https://127.0.0.1:${receiver.port}${path}`;

/** The log of the one delivery of a task, once it is acknowledged as often as that. */
async function acknowledged(id: string, times: number): Promise<Json> {
  let delivery: Json;
  await eventually(gateway, async () => {
    const { body } = await client.send('GET', `/v1/videos/${id}/deliveries`);
    [delivery] = body.data;
    const acks = delivery?.attempts.filter(({ outcome }: Json) => outcome === 'ack');
    // The state is read a moment before the attempts.
    return delivery?.state === 'delivered' && acks.length >= times;
  });
  return delivery;
}

const HOUR_S = 3600;

/** Unix seconds at which the mirrored video's address expires: it is the same for an hour. */
function expiryOf(task: Json): number {
  return Number(/\?exp=(\d+)/.exec(JSON.stringify(task))?.[1] ?? 0);
}

/** Without the expiry and signature of addresses. */
function unsigned(task: Json): Json {
  return JSON.parse(JSON.stringify(task).replace(/\?exp=\d+&kid=[\w-]+&sig=[\w-]+/g, ''));
}

test('an address that is open for webhooks is not one of media', async () => {
  const media = { input_reference: { image_url: hook('/picture.png') } };
  const { status, body } = await client.send('POST', '/v1/videos', { ...VIDEO, ...media });
  assert.deepEqual([status, body.error.code, body.error.param], [400, 'invalid_request', 'input_reference']);
  assert.match(body.error.message, /only addresses on the public internet/);
});

describe('a callback', { concurrency: true }, () => {
  for (const [prompt, status] of [
    ['a cat', 'completed'],
    ['fail', 'failed'],
    ['expire', 'expired'],
  ] as const) {
    test(`is told that the task is ${status}, as its route tells it`, async () => {
      const { id } = await client.create({ prompt, callback_url: hook(`/${status}`) });
      const delivery = await acknowledged(id, 1);
      const key = `${id}-${status}`;
      const got = receiver.received.filter(({ headers }) => headers['x-service-idempotency-key'] === key);
      assert.equal(got.length, 1);
      const [{ headers, body } = assert.fail()] = got;
      assert.equal(headers['content-type'], 'application/json');
      assert.equal(headers['x-service-signature'], createHmac('sha256', SECRET).update(body).digest('base64url'));
      const { event, data, ...envelope } = JSON.parse(body.toString());
      assert.equal(event, `video.generation.${status}`);
      const { body: shown } = await client.send('GET', `/v1/videos/${id}`);
      const isNextHour = expiryOf(shown) - expiryOf(data) === HOUR_S;
      assert.deepEqual(isNextHour ? unsigned(data) : data, isNextHour ? unsigned(shown) : shown);
      assert.deepEqual(envelope, { id, created_at: data.updated_at });
      const { attempts, created_at: created, settled_at: settled, ...facts } = delivery;
      assert.deepEqual(facts, { id: key, object: 'webhook.delivery', url: hook(`/${status}`), state: 'delivered' });
      assert.ok(settled >= created);
      assert.deepEqual(
        [attempts[0].n, attempts[0].trigger, attempts[0].outcome, attempts[0].status],
        [1, 'schedule', 'ack', 204],
      );
    });
  }

  test('is told again on request, in the same bytes', async () => {
    const { id } = await client.create({ prompt: 'fail again', callback_url: hook('/again') });
    await acknowledged(id, 1);
    const replay = await client.send('POST', `/v1/videos/${id}/deliveries/replay`);
    assert.equal(replay.status, 202, JSON.stringify(replay.body));
    const { attempts } = await acknowledged(id, 2);
    assert.deepEqual(
      attempts.map(({ trigger }: Json) => trigger),
      ['schedule', 'replay'],
    );
    const [first, second] = receiver.received.filter(
      ({ headers }) => headers['x-service-idempotency-key'] === `${id}-failed`,
    );
    assert.ok(first && second?.body.equals(first.body));
  });

  test('that nobody asked for is not owed', async () => {
    const { id } = await client.create({ prompt: 'fail quietly' });
    await client.until(id, 'failed');
    assert.deepEqual((await client.send('GET', `/v1/videos/${id}/deliveries`)).body, { object: 'list', data: [] });
    const replay = await client.send('POST', `/v1/videos/${id}/deliveries/replay`);
    assert.deepEqual([replay.status, replay.body.error.code], [404, 'not_found']);
  });
});

test('a callback that could not be signed is refused when the task is made', async () => {
  const unsigned = await startTestGateway();
  const body = { model: 'sandbox/video', prompt: 'x', callback_url: 'https://93.184.216.34/hook' };
  const response = await videoClient(unsigned).send('POST', '/v1/videos', body);
  assert.deepEqual([response.status, response.body.error.param], [400, 'callback_url']);
  assert.match(response.body.error.message, /callbacks\.secret/);
  await unsigned.close();
});
