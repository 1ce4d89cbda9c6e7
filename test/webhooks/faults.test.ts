/** Receivers that do everything wrong: what an attempt comes to, how long it takes, and that others don't notice. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../jobs/rig.ts';
import { startTls } from '../net/servers.ts';
import { openTestSqlite } from '../store/stores.ts';
import { FAULTS } from './faulty-receivers.ts';
import { startReceiver } from './receiver.ts';
import { type RigOptions, startRig } from './rig.ts';

const TIMEOUT = 2_000;
/** Milliseconds that an attempt takes at least and at most. */
const TAKES = { whole: [TIMEOUT, 5 * TIMEOUT], half: [TIMEOUT / 2, TIMEOUT] } as const;

describe('an attempt', { concurrency: 4 }, () => {
  for (const fault of FAULTS) {
    test(`${fault.name}: ${fault.outcome}`, async (context) => {
      const timers = new Set<NodeJS.Timeout>();
      const server = await fault.start(timers);
      context.after(() => {
        for (const timer of timers) clearInterval(timer);
        return server.close();
      });
      const { outcome, spent } = await attempt(context, `https://${fault.host ?? 'media.example.com'}:${server.port}/`);
      assert.equal(outcome, fault.outcome);
      const [least, most] = fault.takes ? TAKES[fault.takes] : [0, TIMEOUT];
      assert.ok(spent >= least - 20 && spent <= most, `${spent} ms`);
    });
  }

  test('connection refused: connect', async (context) => {
    const server = await startTls(() => {});
    await server.close();
    const { outcome } = await attempt(context, `https://media.example.com:${server.port}/`);
    assert.equal(outcome, 'connect');
  });

  const LOOKUPS: Record<string, [RigOptions['lookup'], string]> = {
    'a name that does not exist': [async () => [], 'dns'],
    'name servers that fail': [async () => Promise.reject(new Error('SERVFAIL')), 'dns'],
    'name servers that are slow': [() => new Promise(() => {}), 'timeout'],
    'a name that leads inside': [async () => ['127.0.0.1', '10.0.0.1'], 'blocked'],
    'a name that leads to the metadata service': [async () => ['169.254.169.254'], 'blocked'],
  };
  for (const [name, [lookup, expected]] of Object.entries(LOOKUPS)) {
    test(`${name}: ${expected}`, async (context) => {
      const receiver = await startReceiver();
      context.after(receiver.close);
      assert.equal((await attempt(context, receiver.url(), { lookup })).outcome, expected);
      assert.equal(receiver.connections(), 0);
    });
  }

  test('a name that resolves to a private address at a later attempt is blocked', async (context) => {
    const receiver = await startReceiver((response) => response.writeHead(500).end());
    context.after(receiver.close);
    let asked = 0;
    const lookup = async () => [asked++ === 0 ? '127.0.0.1' : '10.0.0.1'];
    const rig = await startRig(context, openTestSqlite, { lookup, timeoutMs: TIMEOUT });
    const taskId = await rig.owe(receiver.url());
    await until(async () => (await rig.log(taskId))?.attempts.length === 1);
    await rig.store.do('hasten', { kind: 'webhook' });
    rig.scheduler.wake('webhook');
    await until(async () => (await rig.log(taskId))?.attempts.length === 2);
    assert.equal((await rig.log(taskId))?.attempts[1]?.outcome, 'blocked');
    assert.equal(receiver.connections(), 1);
  });
});

test('a dead receiver does not delay others, and gets at most eight connections', async (context) => {
  const dead = await startReceiver(() => {});
  const healthy = await startReceiver();
  context.after(() => Promise.all([dead.close(), healthy.close()]));
  const rig = await startRig(context, openTestSqlite, { timeoutMs: 20_000 });
  await Promise.all(Array.from({ length: 1_000 }, (_, index) => rig.owe(dead.url(), { owner: `owner-${index % 50}` })));
  const waits: number[] = [];
  for (let index = 0; index < 40; index++) {
    const started = performance.now();
    const taskId = await rig.owe(healthy.url(), { owner: 'healthy', taskId: `healthy-${index}` });
    await until(async () => (await rig.log(taskId))?.state === 'delivered');
    waits.push(performance.now() - started);
    await delay(10);
  }
  waits.sort((one, other) => one - other);
  context.diagnostic(`healthy: p50 ${waits[20]?.toFixed(0)} ms, max ${waits.at(-1)?.toFixed(0)} ms`);
  // Behind the dead one it would be twenty seconds and more.
  assert.ok((waits[20] ?? 0) <= 2_000 && (waits.at(-1) ?? 0) < 10_000);
  assert.equal(healthy.received.length, 40);
  assert.equal(dead.busiest, 8);
});

test('after twenty refused connections a host is tried by one attempt at a time', async (context) => {
  const receiver = await startReceiver(() => {});
  await receiver.close();
  const rig = await startRig(context, openTestSqlite, { timeoutMs: 5_000 });
  await Promise.all(Array.from({ length: 20 }, () => rig.owe(receiver.url())));
  await until(async () => (await rig.store.do('brokenLanes', { kind: 'webhook' })).length === 1);
  await rig.scheduler.stop(0);
  await Promise.all(Array.from({ length: 20 }, () => rig.owe(receiver.url())));
  const now = rig.store.now();
  const claimed = await rig.store.call('claimJobs', {
    ...{ kind: 'webhook', now, until: now, lease: 'test', leaseUntil: now + 1000 },
    ...{ slots: 256, lateSlots: 128, maxPerLane: 8, maxPerOwner: 32 },
  });
  assert.equal(claimed.jobs.length, 1);
});

async function attempt(context: Parameters<typeof startRig>[0], url: string, options: RigOptions = {}) {
  const rig = await startRig(context, openTestSqlite, { timeoutMs: TIMEOUT, ...options });
  const taskId = await rig.owe(url);
  await until(async () => (await rig.log(taskId))?.attempts.length === 1);
  const [made] = (await rig.log(taskId))?.attempts ?? [];
  return { outcome: made?.outcome, spent: (made?.endedAt ?? 0) - (made?.startedAt ?? 0) };
}
