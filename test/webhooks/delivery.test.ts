/** Webhooks as a receiver sees them: what is sent, what acknowledges, how often and when it comes again. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/core/clock.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { createExhaustionNotices, NOTICE_OWNER } from '../../src/webhooks/notice.ts';
import { MAX_ATTEMPTS, maxJitter, retryDelay } from '../../src/webhooks/schedule.ts';
import { passing } from '../jobs/activity.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { until } from '../jobs/rig.ts';
import { forEachStore, openTestSqlite } from '../store/stores.ts';
import { startReceiver } from './receiver.ts';
import { SECRET, startRig, taskOf } from './rig.ts';

const START = 1_800_000_000_000;

forEachStore((name, open) => {
  test(`a webhook has exactly the headers and the body of the specification (${name})`, async (context) => {
    const receiver = await startReceiver();
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const taskId = await rig.owe(receiver.url('/hook?a=1'));
    await until(async () => (await rig.log(taskId))?.state === 'delivered');
    const [got, ...more] = receiver.received;
    assert.ok(got && more.length === 0);
    const names = got.rawHeaders.filter((_, index) => index % 2 === 0);
    for (const name of ['Content-Type', 'X-Service-Idempotency-Key', 'X-Service-Signature']) {
      assert.ok(names.includes(name), name);
    }
    const { headers, body } = got;
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['x-service-idempotency-key'], `${taskId}-completed`);
    assert.equal(headers['x-service-signature'], createHmac('sha256', SECRET).update(body).digest('base64url'));
    assert.match(String(headers['x-service-signature']), /^[\w-]{43}$/);
    assert.equal(headers['user-agent'], 'polygate/test');
    for (const absent of ['authorization', 'cookie', 'accept-encoding']) assert.equal(headers[absent], undefined);
    const standard = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`;
    assert.equal(headers['webhook-id'], `${taskId}-completed`);
    assert.equal(
      headers['webhook-signature'],
      `v1,${createHmac('sha256', SECRET).update(standard).update(body).digest('base64')}`,
    );
    const envelope = JSON.parse(body.toString());
    assert.deepEqual(Object.keys(envelope), ['event', 'id', 'created_at', 'data']);
    assert.deepEqual([envelope.event, envelope.id], ['video.generation.completed', taskId]);
    assert.ok(Number.isInteger(envelope.created_at) && Math.abs(envelope.created_at - Date.now() / 1000) < 60);
    assert.deepEqual(envelope.data, taskOf(taskId));
  });

  test(`a failing receiver gets the same bytes eleven times on schedule, then nothing (${name})`, async (context) => {
    const clock = createManualClock(START);
    const at: number[] = [];
    const receiver = await startReceiver((response) => {
      at.push(clock.now());
      response.writeHead(500).end('x'.repeat(100_000));
    });
    context.after(receiver.close);
    let exhausted = 0;
    const events = {
      webhookAttempted() {},
      webhookExhausted() {
        exhausted += 1;
      },
    };
    const rig = await startRig(context, open, { clock, timeoutMs: 5_000, events });
    const taskId = await rig.owe(receiver.url());
    for (let n = 1; n < MAX_ATTEMPTS; n++) {
      await passing({ clock, activity: rig.store.activity, most: 5_000 }, () => at.length === n);
      await until(async () => (await rig.log(taskId))?.attempts.length === n);
      const { nextDueAt: due = 0, endedAt = 0 } = (await rig.log(taskId))?.attempts.at(-1) ?? {};
      const gap = due - endedAt;
      assert.ok(gap >= retryDelay(n) && gap <= retryDelay(n) + maxJitter(n), `retry ${n} after ${gap} ms`);
      assert.equal(exhausted, 0);
      clock.advance(Math.max(0, due - clock.now() - 2_000));
    }
    await passing({ clock, activity: rig.store.activity, most: 5_000 }, () => at.length === MAX_ATTEMPTS);
    await until(async () => (await rig.log(taskId))?.state === 'exhausted');
    for (let hour = 0; hour < 24 * 4; hour++) {
      clock.advance(900_000);
      await rig.store.activity.quiet();
    }
    assert.equal(receiver.received.length, 11);
    assert.equal(exhausted, 1);
    for (const { body, headers } of receiver.received) {
      assert.deepEqual(body, receiver.received[0]?.body);
      assert.equal(headers['x-service-idempotency-key'], `${taskId}-completed`);
    }
    assert.deepEqual(await rig.store.do('listJobs', { kind: 'webhook' }), []);
    const attempts = (await rig.log(taskId))?.attempts ?? [];
    assert.deepEqual(
      new Set(attempts.map(({ outcome, status }) => `${outcome} ${status}`)),
      new Set(['http_status 500']),
    );
  });

  test(`a task has one webhook even if it is settled twice (${name})`, async (context) => {
    const receiver = await startReceiver();
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const taskId = await rig.owe(receiver.url());
    await Promise.all([1, 2, 3].map(() => rig.owe(receiver.url('/other'), { taskId })));
    await until(async () => (await rig.log(taskId))?.state === 'delivered');
    await delay(50);
    assert.equal(receiver.received.length, 1);
  });
});

test('only 2xx acknowledges a webhook', async (context) => {
  const receiver = await startReceiver((response, { headers }) => {
    const [, status] = /status-(\d+)/.exec(String(headers['x-service-idempotency-key'])) ?? [];
    response.writeHead(Number(status), { location: receiver.url('/elsewhere') }).end();
  });
  context.after(receiver.close);
  const rig = await startRig(context, openTestSqlite);
  const statuses = [200, 201, 202, 204, 226, 299, 300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 410, 429, 500, 503];
  const outcomes = await Promise.all(
    statuses.map(async (status) => {
      const taskId = await rig.owe(receiver.url(), { taskId: `status-${status}` });
      await until(async () => (await rig.log(taskId))?.attempts.length === 1);
      const [attempt] = (await rig.log(taskId))?.attempts ?? [];
      return [attempt?.status, attempt?.outcome];
    }),
  );
  assert.deepEqual(
    outcomes,
    statuses.map((status) => [status, status < 300 ? 'ack' : 'http_status']),
  );
  assert.equal(receiver.received.length, statuses.length, 'no redirect is followed');
});

test('honor_retry_after delays the next attempt up to ten minutes', async (context) => {
  for (const [honorRetryAfter, header, least, most] of [
    [false, '300', 5_000, 6_000],
    [true, '300', 300_000, 301_000],
    [true, '86400', 600_000, 601_000],
    [true, '1', 5_000, 6_000],
  ] as const) {
    const receiver = await startReceiver((response) => response.writeHead(429, { 'retry-after': header }).end());
    const rig = await startRig(context, openTestSqlite, { honorRetryAfter });
    const taskId = await rig.owe(receiver.url());
    await until(async () => (await rig.log(taskId))?.attempts.length === 1);
    const log = await rig.log(taskId);
    const gap = (log?.nextDueAt ?? 0) - (log?.attempts[0]?.endedAt ?? 0);
    assert.ok(gap >= least && gap <= most, `${gap} ms`);
    await receiver.close();
  }
});

test('a fault of the gateway does not count as an attempt', async (context) => {
  const receiver = await startReceiver();
  context.after(receiver.close);
  const clock = createManualClock(START);
  let faults = 3;
  const lookup = async () => {
    faults -= 1;
    if (faults >= 0) throw Object.assign(new Error('no descriptors'), { code: 'EMFILE' });
    return ['127.0.0.1'];
  };
  const rig = await startRig(context, openTestSqlite, { clock, lookup });
  const taskId = await rig.owe(receiver.url());
  await passing(
    { clock, activity: rig.store.activity, most: 60_000 },
    async () => (await rig.log(taskId))?.state === 'delivered',
  );
  assert.equal((await rig.log(taskId))?.attempts.length, 1);
  assert.equal(await rig.store.do('begunOf', { taskId }), 1);
  assert.ok(clock.now() - START >= 5_000 + 10_000 + 20_000, 'in growing pauses');
});

test('the result of an attempt whose lease was lost is neither counted nor told: that of its new holder counts', async (context) => {
  const receiver = await startReceiver((response) => response.writeHead(500).end());
  context.after(receiver.close);
  const told: unknown[] = [];
  const events = {
    webhookAttempted: (outcome: string) => told.push(outcome),
    webhookExhausted: () => told.push('over'),
  };
  let recorded = 0;
  const through = (inner: Store): Store => ({
    ...inner,
    call(name, parameters) {
      if (name !== 'recordAttempt') return inner.call(name, parameters);
      recorded += 1;
      // Another gateway took the job over after its lease had ended.
      return inner.call(name, { ...(parameters as object), lease: 'gone' } as typeof parameters);
    },
  });
  const exhaustionNotice = createExhaustionNotices({ url: receiver.url('/notices'), clock: systemClock });
  const rig = await startRig(context, openTestSqlite, { events, exhaustionNotice, through });
  await rig.owe(receiver.url());
  await until(() => recorded === 1);
  await delay(100);
  assert.deepEqual(told, []);
  const { rows } = await rig.store.do('findDeliveries', { owner: NOTICE_OWNER, limit: 10, depth: 100 });
  assert.deepEqual(rows, [], 'and nobody is told that it was given up');
});

test('the result of an attempt that is stored is counted, also where the answer of the store got lost', async (context) => {
  const receiver = await startReceiver((response) => response.writeHead(500).end());
  context.after(receiver.close);
  const told: unknown[] = [];
  let recorded = 0;
  const through = (inner: Store): Store => ({
    ...inner,
    async call(name, parameters) {
      const result = await inner.call(name, parameters);
      if (name !== 'recordAttempt') return result;
      recorded += 1;
      if (recorded === 1) throw new StoreUnavailable('the connection was lost');
      assert.equal(result, false, 'the first call has ended the lease');
      return result;
    },
  });
  const events = {
    webhookAttempted: (outcome: string) => told.push(outcome),
    webhookExhausted: () => told.push('over'),
  };
  const rig = await startRig(context, openTestSqlite, { events, through });
  await rig.owe(receiver.url());
  await until(() => told.length > 0);
  assert.deepEqual([recorded, told], [2, ['http_status']]);
});
