/** The thread that delivers webhooks: its priority, its way to the store, its end and its restart. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { accessMessage } from '../../src/store/open-in-thread.ts';
import type { Store, StoreAccess } from '../../src/store/store.ts';
import { deliveryForOperator } from '../../src/webhooks/delivery-log.ts';
import { createDeliveryThread } from '../../src/webhooks/delivery-thread.ts';
import { newDelivery } from '../../src/webhooks/envelope.ts';
import type { ThreadSettings } from '../../src/webhooks/thread-messages.ts';
import { type JobStore, openJobStore, until } from '../jobs/rig.ts';
import { testCa } from '../net/servers.ts';
import { forEachStore, openTestSqlite } from '../store/stores.ts';
import { type Answer, type Receiver, startReceiver } from './receiver.ts';
import { encryptionKey, OWNER, SECRET, taskOf } from './rig.ts';

/** Of a gateway without a thread. */
const LOOK_INTERVAL_MS = 2000;

interface ThreadRig {
  store: JobStore;
  receiver: Receiver;
  thread: ReturnType<typeof createDeliveryThread>;
  /** Log lines, each with its level. */
  lines: { level: string; details: Record<string, unknown>; text: string }[];
  outcomes: string[];
  restarts(): number;
  owe(taskId: string): Promise<void>;
  stateOf(taskId: string): Promise<string | undefined>;
}

interface ThreadRigOptions {
  store: JobStore;
  answer?: Answer;
  access?: StoreAccess;
  settings?: Partial<ThreadSettings>;
  clock?: Pick<Clock, 'monotonic' | 'after'>;
}

async function startThread(context: TestContext, options: ThreadRigOptions): Promise<ThreadRig> {
  const { store, answer, access = accessOf(store), clock = systemClock } = options;
  const receiver = await startReceiver(answer);
  const lines: ThreadRig['lines'] = [];
  const outcomes: string[] = [];
  let restarts = 0;
  const write = (level: string) => (details: object, text: string) =>
    lines.push({ level, details: { ...details }, text });
  const thread = createDeliveryThread({
    ...{ store, access, clock },
    settings: {
      ...{ store: accessMessage(access), encryptionKeys: [encryptionKey], fallbackSecret: SECRET, extraCa: testCa },
      ...{ policy: { allowCidrs: ['127.0.0.0/8'] }, dnsServers: [], userAgent: 'polygate/test' },
      ...{ timeoutMs: 10_000, honorRetryAfter: false, standardHeaders: true, ...options.settings },
    },
    log: { info: write('info'), warn: write('warn'), error: write('error') } as never,
    events: {
      webhookAttempted: (outcome) => outcomes.push(outcome),
      webhookExhausted() {},
      webhookThreadRestarted() {
        restarts += 1;
      },
    },
  });
  context.after(async () => {
    await thread.stop(0);
    await receiver.close();
  });
  return {
    ...{ store, receiver, thread, lines, outcomes, restarts: () => restarts },
    async owe(taskId) {
      const url = `https://127.0.0.1:${receiver.port}/hook`;
      const settled = { taskId, status: 'completed', url, owner: OWNER, createdAt: store.now(), task: taskOf(taskId) };
      await store.do('addDeliveries', { deliveries: [newDelivery(settled as never)] });
      thread.wake();
    },
    stateOf: async (taskId) => (await deliveryForOperator(store, taskId))?.state,
  };
}

function accessOf({ access }: Store): StoreAccess {
  assert.ok(access);
  return access;
}

forEachStore((name, open) => {
  test(`a webhook goes out from the thread, and its log line and metric arrive (${name})`, async (context) => {
    const rig = await startThread(context, { store: await openJobStore(context, open) });
    await rig.owe('one');
    await until(async () => (await rig.stateOf('one')) === 'delivered');
    await until(() => rig.outcomes.length === 1);
    assert.deepEqual(rig.outcomes, ['ack']);
    assert.deepEqual(rig.lines, [
      { level: 'info', details: { delivery: 'one-completed', status: 204 }, text: 'webhook delivered' },
    ]);
    assert.equal(rig.receiver.received[0]?.headers['x-service-idempotency-key'], 'one-completed');
    for (let n = 0; n < 20; n++) await rig.owe(`more-${n}`);
    await until(async () => (await rig.store.do('listJobs', { kind: 'webhook' })).length === 0);
    assert.equal(rig.receiver.received.length, 21);
    assert.ok(rig.receiver.connections() <= 8, `${rig.receiver.connections()} connections`);
  });

  test(`webhooks that are due when the gateway starts need no call (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const receiver = await startReceiver();
    context.after(receiver.close);
    const url = `https://127.0.0.1:${receiver.port}/hook`;
    const settled = {
      taskId: 'old',
      status: 'completed',
      url,
      owner: OWNER,
      createdAt: store.now(),
      task: {},
    } as const;
    await store.do('addDeliveries', { deliveries: [newDelivery(settled)] });
    const rig = await startThread(context, { store });
    await until(async () => (await rig.stateOf('old')) === 'delivered');
  });

  test(`a stop returns the jobs of deliveries under way (${name})`, async (context) => {
    const rig = await startThread(context, { store: await openJobStore(context, open), answer: () => {} });
    await rig.owe('slow');
    await until(() => rig.receiver.received.length === 1);
    await rig.thread.stop(0);
    const [job] = await rig.store.do('listJobs', { kind: 'webhook' });
    assert.deepEqual([job?.lease, job?.faults], ['', 0]);
  });
});

test('on Linux the priority of that thread alone is lowered', async (context) => {
  if (process.platform !== 'linux') return context.skip('only Linux has a priority for each thread');
  const before = niceness();
  const rig = await startThread(context, { store: await openJobStore(context, openTestSqlite) });
  await rig.owe('one');
  await until(async () => (await rig.stateOf('one')) === 'delivered');
  const lowered = [...niceness()].filter(([, nice]) => nice > Math.min(...before.values()));
  assert.deepEqual(
    lowered.map(([id, nice]) => [before.has(id), nice]),
    [[false, Math.min(10 + Math.min(...before.values()), 19)]],
  );
});

test('secrets of failures do not reach the log', async (context) => {
  const store = await openJobStore(context, openTestSqlite);
  const rig = await startThread(context, { store, settings: { encryptionKeys: [Buffer.alloc(32, 8)] } });
  const stored = { id: 'x', owner: OWNER, ciphertext: 'not of this key', createdAt: 1, activeAt: 1 };
  await store.call('addFirstSecret', stored);
  await rig.owe('one');
  await until(() => rig.lines.some(({ level }) => level === 'error'));
  const text = JSON.stringify(rig.lines);
  assert.match(text, /job failed; it is retried later/);
  assert.match(text, /"stack":"/);
  for (const secret of [SECRET, Buffer.alloc(32, 8).toString('base64'), 'not of this key']) {
    assert.ok(!text.includes(secret));
  }
});

test('a thread that dies is started again, and nothing is lost', async (context) => {
  const store = await openJobStore(context, openTestSqlite);
  const { access, breakThread } = breakable(accessOf(store));
  let answers = false;
  const answer: Answer = (response) => answers && response.writeHead(204).end();
  const rig = await startThread(context, { store, access, answer });
  await rig.owe('under-way');
  await until(() => rig.receiver.received.length === 1);
  breakThread();
  await until(() => rig.restarts() === 1);
  const [line] = rig.lines.filter(({ level }) => level === 'error');
  assert.equal(line?.text, 'the thread that delivers webhooks ended; it is started again');
  assert.ok(line?.details.err instanceof Error);
  answers = true;
  await rig.owe('next');
  await until(async () => (await rig.stateOf('next')) === 'delivered');
  // The lease of the dead thread would end by itself after half a minute.
  await store.call('releaseLeases', {});
  rig.thread.wake();
  await until(async () => (await rig.stateOf('under-way')) === 'delivered');
  const copies = rig.receiver.received.filter(({ headers }) => headers['webhook-id'] === 'under-way-completed');
  assert.equal(copies.length, 2);
  assert.deepEqual(copies[0]?.body, copies[1]?.body);
});

test('a thread that cannot start is tried again and again, and can be stopped', async (context) => {
  const store = await openJobStore(context, openTestSqlite);
  const rig = await startThread(context, { store, settings: { policy: { allowCidrs: ['junk'] } } });
  await rig.owe('one');
  await until(() => rig.restarts() >= 2);
  await rig.thread.stop(0);
  assert.equal((await store.do('listJobs', { kind: 'webhook' })).length, 1);
});

test('a thread that cannot open the store begins at most four seconds after the store can be reached', async (context) => {
  const store = await openJobStore(context, openTestSqlite);
  const delays: number[] = [];
  const clock: ThreadRigOptions['clock'] = {
    monotonic: () => 0,
    after(milliseconds, callback) {
      delays.push(milliseconds);
      setImmediate(callback);
      return () => {};
    },
  };
  const rig = await startThread(context, { store, clock, settings: { policy: { allowCidrs: ['junk'] } } });
  await rig.owe('one');
  await until(() => rig.restarts() >= 9);
  const restarts = delays.filter((milliseconds) => milliseconds !== LOOK_INTERVAL_MS);
  assert.deepEqual(restarts.slice(0, 9), [100, 200, 400, 800, 1600, 3200, 4000, 4000, 4000]);
});

test('a database thread that dies does not end the thread', async (context) => {
  const store = await openJobStore(context, openTestSqlite);
  const rig = await startThread(context, { store });
  await rig.owe('one');
  await until(async () => (await rig.stateOf('one')) === 'delivered');
  await assert.rejects(store.do('die', {}));
  await until(() =>
    store.do('addJobs', { jobs: [] }).then(
      () => true,
      () => false,
    ),
  );
  await rig.owe('two');
  await until(async () => (await rig.stateOf('two')) === 'delivered');
  assert.equal(rig.restarts(), 0);
});

/** Passes the messages of the database through, so that a broken one can be sent to the thread. */
function breakable(access: StoreAccess): { access: StoreAccess; breakThread(): void } {
  assert.equal(access.engine, 'sqlite');
  const toThread: MessagePort[] = [];
  return {
    access: {
      engine: 'sqlite',
      attach(role, port) {
        const { port1, port2 } = new MessageChannel();
        port1.on('message', (message) => port.postMessage(message)).on('close', () => port.close());
        port.on('message', (message) => port1.postMessage(message)).on('close', () => port1.close());
        toThread.push(port);
        if (access.engine === 'sqlite') access.attach(role, port2);
      },
    },
    breakThread: () => toThread.at(-1)?.postMessage({ type: 'results', results: 1 }),
  };
}

/** Niceness of each thread of this process. */
function niceness(): Map<string, number> {
  const threads = readdirSync('/proc/self/task').map((id): [string, number] => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8');
    return [id, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])];
  });
  return new Map(threads);
}
