/** The delivery log, and webhooks that are sent once more. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayError } from '../../src/core/errors.ts';
import { deliveriesOf, replayDelivery, searchDeliveries } from '../../src/webhooks/delivery-log.ts';
import { until } from '../jobs/rig.ts';
import { forEachStore } from '../store/stores.ts';
import { startReceiver } from './receiver.ts';
import { OWNER, startRig } from './rig.ts';

forEachStore((name, open) => {
  test(`owners see outcomes and statuses, operators also addresses, other owners nothing (${name})`, async (context) => {
    const receiver = await startReceiver((response) => response.writeHead(503, { 'retry-after': '7' }).end('secret'));
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const taskId = await rig.owe(receiver.url());
    await until(async () => (await rig.log(taskId))?.attempts.length === 1);
    const [seen] = await deliveriesOf(rig.store, { owner: OWNER, taskId });
    assert.ok(seen);
    const { startedAt = 0, endedAt = 0, nextDueAt = 0, ...attempt } = seen.attempts[0] ?? {};
    assert.deepEqual(attempt, { n: 1, trigger: 'schedule', outcome: 'http_status', status: 503 });
    assert.ok(startedAt <= endedAt && endedAt < nextDueAt);
    assert.deepEqual([seen.id, seen.state, seen.nextDueAt], [`${taskId}-completed`, 'pending', nextDueAt]);
    assert.equal((await rig.log(taskId))?.attempts[0]?.address, '127.0.0.1');
    assert.equal((await rig.log(taskId))?.attempts[0]?.retryAfter, 7000);
    assert.deepEqual(await deliveriesOf(rig.store, { owner: 'stranger', taskId }), []);
    assert.deepEqual(await deliveriesOf(rig.store, { owner: OWNER, taskId: 'unknown' }), []);
    assert.equal((await searchDeliveries(rig.store, { owner: OWNER, limit: 10 })).deliveries.length, 1);
    assert.equal((await searchDeliveries(rig.store, { owner: 'stranger', limit: 10 })).deliveries.length, 0);
  });

  test(`a search by outcome finds those whose last attempt ended so (${name})`, async (context) => {
    const statuses = [503, 200];
    const receiver = await startReceiver((response) => response.writeHead(statuses.shift() ?? 200).end());
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const find = async (outcome: 'ack' | 'http_status' | 'timeout') =>
      (await searchDeliveries(rig.store, { outcome, limit: 10 })).deliveries.map(({ taskId }) => taskId);
    const taskId = await rig.owe(receiver.url());
    await until(async () => (await rig.log(taskId))?.attempts.length === 1);
    assert.deepEqual([await find('http_status'), await find('ack')], [[taskId], []]);
    await replayDelivery({ store: rig.store, scheduler: rig.scheduler, owner: OWNER, taskId });
    await until(async () => (await rig.log(taskId))?.attempts.length === 2);
    assert.deepEqual([await find('http_status'), await find('ack'), await find('timeout')], [[], [taskId], []]);
  });

  test(`the log is a consistent snapshot (${name})`, async (context) => {
    const receiver = await startReceiver();
    context.after(receiver.close);
    const rig = await startRig(context, open);
    await rig.scheduler.stop(0);
    const taskId = await rig.owe(receiver.url());
    const begun = { id: '', lease: 'test', deliveryId: `${taskId}-completed`, trigger: 'schedule' } as const;
    const [at, leaseUntil] = [rig.store.now(), rig.store.now() + 60_000];
    const slots = { slots: 1, lateSlots: 1, maxPerLane: 1, maxPerOwner: 1 };
    const claim = { kind: 'webhook', now: at, until: at, lease: 'test', leaseUntil, ...slots };
    const { jobs } = await rig.store.do('claimJobs', claim);
    const result = { scheduledAt: at, startedAt: at, endedAt: at, outcome: 'ack', status: 200 } as const;
    const record = { ...begun, id: jobs[0]?.id ?? '', lane: '', late: false, result };
    const delivering: typeof rig.store.call = async (...asked) => {
      const answer = await rig.store.call(...asked);
      await rig.store.do('recordAttempt', record);
      return answer;
    };
    const seen = [];
    for (let look = 0; look < 2; look++)
      seen.push(...(await deliveriesOf({ call: delivering }, { owner: OWNER, taskId })));
    const shown = seen.map(({ state, attempts }) => [state, ...attempts.map(({ outcome }) => outcome)]);
    assert.deepEqual(shown, [['pending'], ['delivered', 'ack']]);
  });

  test(`a replay sends the same bytes once, and its failure does not change the delivery (${name})`, async (context) => {
    let status = 500;
    const receiver = await startReceiver((response) => response.writeHead(status).end());
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const taskId = await rig.owe(receiver.url());
    const attempts = async () => (await rig.log(taskId))?.attempts ?? [];
    await until(async () => (await attempts()).length === 1);
    const due = (await rig.log(taskId))?.nextDueAt;
    const replay = (owner = OWNER) => replayDelivery({ ...rig, owner, taskId });

    await replay();
    await until(async () => (await attempts()).length === 2);
    const failed = await rig.log(taskId);
    assert.deepEqual([failed?.state, failed?.nextDueAt], ['pending', due], 'the automatic one stays planned');
    assert.deepEqual([failed?.attempts[1]?.trigger, failed?.attempts[1]?.nextDueAt], ['replay', undefined]);

    status = 200;
    await replay();
    await until(async () => (await rig.log(taskId))?.state === 'delivered');
    assert.deepEqual(await rig.store.do('listJobs', { kind: 'webhook' }), [], 'nothing is owed any more');
    await replay();
    await until(async () => (await attempts()).length === 4);
    const [first, ...others] = receiver.received;
    assert.equal(others.length, 3);
    for (const { body, headers } of others) {
      assert.deepEqual(body, first?.body);
      assert.equal(headers['x-service-idempotency-key'], `${taskId}-completed`);
    }
    await assert.rejects(replay('stranger'), { code: 'not_found' });
  });

  test(`a replay during an attempt gets delivery_in_flight (${name})`, async (context) => {
    const release = Promise.withResolvers<void>();
    const receiver = await startReceiver((response) => void release.promise.then(() => response.writeHead(200).end()));
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const taskId = await rig.owe(receiver.url());
    const replay = () => replayDelivery({ ...rig, owner: OWNER, taskId });
    await until(() => receiver.received.length === 1);
    await assert.rejects(replay(), { code: 'delivery_in_flight', status: 409 });
    release.resolve();
    await until(async () => (await rig.log(taskId))?.state === 'delivered');
    await delay(20);
    await replay();
    await until(() => receiver.received.length === 2);
  });

  test(`a webhook can be replayed ten times within 24 hours (${name})`, async (context) => {
    const receiver = await startReceiver();
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const [taskId, other] = [await rig.owe(receiver.url()), await rig.owe(receiver.url())];
    const attempts = async (task = taskId) => (await rig.log(task))?.attempts ?? [];
    await until(async () => (await attempts()).length === 1);
    for (let replays = 1; replays <= 10; replays++) {
      await replayDelivery({ ...rig, owner: OWNER, taskId });
      await until(async () => (await attempts()).length === 1 + replays);
    }
    const day = 24 * 3_600_000;
    const later = (milliseconds: number) => ({ call: rig.store.call, now: () => rig.store.now() + milliseconds });
    const replay = (milliseconds: number) =>
      replayDelivery({ ...rig, store: later(milliseconds), owner: OWNER, taskId });
    await assert.rejects(replay(0), (error: GatewayError) => {
      assert.deepEqual([error.code, error.status], ['rate_limit_exceeded', 429]);
      assert.match(error.message, /10 times within 24 hours/);
      assert.ok(Number(error.retryAfter) > day - 60_000 && Number(error.retryAfter) <= day);
      return true;
    });
    await assert.rejects(replay(day - 60_000), { code: 'rate_limit_exceeded' });
    await until(async () => (await attempts(other)).length === 1);
    await replayDelivery({ ...rig, owner: OWNER, taskId: other });
    await until(async () => (await attempts(other)).length === 2);
    assert.equal(receiver.received.length, 13);
    // As after a clock that was set back by a year.
    await replay(-365 * day);
    await until(async () => (await attempts()).length === 12);
    await replay(day);
  });
});
