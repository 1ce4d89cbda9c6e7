/** Gateways that die at the worst moments, and stores that go away: nothing owed is lost, nothing is sent too often. */

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { openSqlite } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { deliveryForOperator } from '../../src/webhooks/delivery-log.ts';
import { newDelivery } from '../../src/webhooks/envelope.ts';
import { MAX_ATTEMPTS } from '../../src/webhooks/schedule.ts';
import { createActivity } from '../jobs/activity.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { type JobStore, OPERATIONS, until } from '../jobs/rig.ts';
import { openTestSqlite, temporaryData } from '../store/stores.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { OWNER, startRig, taskOf } from './rig.ts';

const CHILD = join(import.meta.dirname, 'crash-child.ts');

async function openFolder(folder: string): Promise<JobStore> {
  const store = await openSqlite({ folder, role: 'owner', operations: OPERATIONS, migrations: MIGRATIONS_FOLDER });
  return { ...store, do: store.call as never, beside: () => assert.fail(), activity: createActivity() };
}

function start(context: TestContext, folder: string, ...point: string[]): ChildProcess {
  const child = fork(CHILD, [folder, ...point], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  context.after(() => child.kill('SIGKILL'));
  return child;
}

const ended = (child: ChildProcess) => new Promise<void>((done) => child.once('exit', () => done()));

async function owe(folder: string, receiver: Receiver): Promise<string> {
  const taskId = randomUUID();
  const store = await openFolder(folder);
  const settled = { taskId, status: 'completed', url: receiver.url(), owner: OWNER, createdAt: Date.now() } as const;
  await store.do('addDeliveries', { deliveries: [newDelivery({ ...settled, task: taskOf(taskId) })] });
  await store.close();
  return taskId;
}

describe('a gateway that is killed', { concurrency: 3 }, () => {
  for (const [point, operation, most] of [
    ['before', 'claimJobs', 1],
    ['after', 'claimJobs', 1],
    ['before', 'beginAttempt', 1],
    ['after', 'beginAttempt', 1],
    ['before', 'recordAttempt', 2],
    ['after', 'recordAttempt', 1],
  ] as const) {
    test(`a kill ${point} ${operation} loses nothing and sends ${most} at most`, async (context) => {
      const receiver = await startReceiver();
      context.after(receiver.close);
      const folder = temporaryData(context);
      const taskId = await owe(folder, receiver);
      await ended(start(context, folder, point, operation));
      const second = start(context, folder);
      await until(() => receiver.received.length >= most);
      await new Promise((done) => setTimeout(done, 1_000));
      second.kill('SIGKILL');
      await ended(second);
      const store = await openFolder(folder);
      context.after(store.close);
      const log = await deliveryForOperator(store, taskId);
      assert.equal(log?.state, 'delivered');
      assert.equal(log?.attempts.length, 1);
      assert.ok(receiver.received.length >= 1 && receiver.received.length <= most, `${receiver.received.length} sent`);
      for (const { body } of receiver.received) assert.deepEqual(body, receiver.received[0]?.body);
    });
  }
});

test('an attempt without a recorded result counts: there is never a twelfth request', async (context) => {
  const receiver = await startReceiver((response) => response.writeHead(500).end());
  context.after(receiver.close);
  const rig = await startRig(context, openTestSqlite, { timeoutMs: 5_000, through: forgetful });
  const taskId = await rig.owe(receiver.url());
  await until(async () => {
    await rig.store.do('hasten', { kind: 'webhook' });
    rig.scheduler.wake('webhook');
    return (await rig.log(taskId))?.state === 'exhausted';
  });
  assert.equal(receiver.received.length, MAX_ATTEMPTS);
  assert.deepEqual((await rig.log(taskId))?.attempts, []);
});

/** Results never arrive, as if the gateway died after each request. */
function forgetful(store: Store): Store {
  return {
    ...store,
    async call(name, parameters) {
      if (name === 'recordAttempt') throw new Error('killed');
      return store.call(name, parameters);
    },
  };
}

test('a result is saved after the store recovers, and nothing is sent twice', async (context) => {
  const receiver = await startReceiver();
  context.after(receiver.close);
  let away = true;
  const through = (store: Store): Store => ({
    ...store,
    async call(name, parameters) {
      if (away && name === 'recordAttempt') throw new StoreUnavailable('the disk is full');
      return store.call(name, parameters);
    },
  });
  const rig = await startRig(context, openTestSqlite, { through });
  const taskId = await rig.owe(receiver.url());
  await until(() => receiver.received.length === 1);
  await new Promise((done) => setTimeout(done, 400));
  away = false;
  const started = performance.now();
  await until(async () => (await rig.log(taskId))?.state === 'delivered');
  assert.ok(performance.now() - started < 5_000);
  assert.equal(receiver.received.length, 1);
});

test('deliveries pause while the store is unavailable and resume within five seconds', async (context) => {
  const clock = createManualClock(1_800_000_000_000);
  const receiver = await startReceiver();
  context.after(receiver.close);
  let away = false;
  let asked = 0;
  const through = (store: Store): Store => ({
    ...store,
    async call(name, parameters) {
      asked += 1;
      if (away) throw new StoreUnavailable('locked');
      return store.call(name, parameters);
    },
  });
  const rig = await startRig(context, openTestSqlite, { through, clock });
  const passing = async (milliseconds: number) => {
    for (let passed = 0; passed < milliseconds; passed += 100) {
      clock.advance(100);
      await rig.store.activity.quiet();
    }
  };
  away = true;
  await passing(1_000);
  const taskId = await rig.owe(receiver.url());
  asked = 0;
  await passing(60_000);
  assert.ok(asked <= 20, `${asked} calls in a minute`);
  assert.equal(receiver.received.length, 0);
  away = false;
  await passing(5_000);
  await until(async () => (await rig.log(taskId))?.state === 'delivered');
});
