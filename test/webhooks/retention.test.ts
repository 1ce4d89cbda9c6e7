/** Webhooks are kept for as long as the records of their tasks, and no longer; and are found among all of them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import type { VideoTask } from '../../src/records/video-task.ts';
import type { DeliveryPosition } from '../../src/store/operations/delivery-lists.ts';
import { createSweepHandler } from '../../src/videos/sweep.ts';
import { replayDelivery } from '../../src/webhooks/delivery-log.ts';
import { newDelivery } from '../../src/webhooks/envelope.ts';
import { type JobStore, openJobStore, until } from '../jobs/rig.ts';
import { forEachStore } from '../store/stores.ts';
import { startReceiver } from './receiver.ts';
import { OWNER, startRig } from './rig.ts';

const AT = 1_800_000_000_000;

function newTask(id: string): VideoTask {
  return {
    ...{ id, owner: 'key-1', model: 'sandbox/video', prompt: 'a secret of its owner', details: { count: 1 } },
    ...{ status: 'queued', phase: 'submitting', version: 1, cancelRequested: false, assets: [], memory: {} },
    ...{ createdAt: AT, updatedAt: AT, deadlineAt: AT + 1000 },
  } as VideoTask;
}

/** Makes a task that has ended and owes its webhook. */
async function settle(store: JobStore, id: string, { settledAt = AT, url = 'https://example.org/' }): Promise<void> {
  const task = newTask(id);
  const attempt = { id, taskId: id, provider: 'p', credential: 'c', state: 'intent', createdAt: AT } as const;
  const job = { kind: 'video', ref: id, lane: '', owner: OWNER, dueAt: AT };
  const idempotency = { key: id, digest: id, window: 0 };
  await store.do('createVideo', { task, request: '{}', attempt, job, idempotency });
  const shown = { id, status: 'cancelled', prompt: task.prompt };
  const settled = { taskId: id, status: 'cancelled', url, owner: OWNER, createdAt: AT, task: shown } as const;
  const figures = { taskId: id, owner: OWNER, model: task.model, provider: 'p', seconds: 0, cost: 0n };
  const ledger = { ...figures, source: 'none', createdAt: AT } as const;
  const ended = { ...task, status: 'cancelled', phase: 'done', seconds: 0, cost: 0n, settledAt } as const;
  await store.do('saveVideo', { task: ended, settlement: { ledger, delivery: newDelivery(settled) } });
}

forEachStore((name, open) => {
  test(`a search of all deliveries looks at a bounded number, and finds every one once (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    const hosts = ['one.example', 'two.example'];
    for (let index = 0; index < 12; index++) {
      await settle(store, `task-${index}`, { url: `https://${hosts[index % 6 === 0 ? 0 : 1]}/` });
    }
    const found: string[] = [];
    let searches = 0;
    let after: DeliveryPosition | undefined;
    do {
      const { rows, next } = await store.do('findDeliveries', { limit: 5, depth: 4, host: 'one.example', after });
      found.push(...rows.map(({ taskId }) => taskId));
      after = next;
      searches++;
    } while (after);
    assert.deepEqual(found.sort(), ['task-0', 'task-6']);
    assert.ok(searches >= 3, `${searches} searches of four rows saw twelve`);
  });

  test(`a delivery and its log are deleted with their task record (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    for (const id of ['old', 'young']) {
      await settle(store, id, { settledAt: id === 'old' ? AT : AT + 2 });
      await store.do('startReplay', { deliveryId: `${id}-cancelled`, owner: OWNER, now: AT, limit: 10, period: 1 });
    }
    await store.do('dropJobs', { kind: 'video-use' });
    assert.equal(await store.do('pruneVideos', { settledBefore: AT + 1, limit: 10 }), 1);
    assert.equal(await store.do('readDelivery', { taskId: 'old' }), undefined);
    assert.ok(await store.do('readDelivery', { taskId: 'young' }));
    const left = await store.do('listJobs', { kind: 'webhook' });
    assert.deepEqual(left.map(({ ref }) => ref).sort(), ['young-cancelled', 'young-cancelled/replay']);
  });

  test(`the sweep forgets the failures of receivers that are owed nothing (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    await settle(store, 'owed', { url: 'https://owed.example/' });
    const lanes = Array.from({ length: 150 }, (_, index) => `gone-${index}.example:443`);
    for (const lane of [...lanes, 'owed.example:443']) await store.do('breakLane', { kind: 'webhook', lane });
    await store.do('breakLane', { kind: 'video', lane: 'owed.example:443' });
    const settings = { keepRecordsMs: 1, dedupeWindowMs: 1 };
    const clock = { ...systemClock, now: () => AT };
    const sweep = createSweepHandler({ store, clock, expiry: clock, settings } as never);
    await sweep.run({ id: 'sweep', lease: '' } as never, new AbortController().signal);
    assert.deepEqual(await store.do('brokenLanes', { kind: 'webhook' }), ['owed.example:443']);
    assert.deepEqual(await store.do('brokenLanes', { kind: 'video' }), []);
  });

  test(`a pending webhook of a deleted task is still delivered, then its body is deleted (${name})`, async (context) => {
    let status = 500;
    const receiver = await startReceiver((response) => response.writeHead(status).end());
    context.after(receiver.close);
    const rig = await startRig(context, open);
    const { store } = rig;
    const erase = (id: string) => store.do('deleteVideo', { id, owner: OWNER, details: '{}', now: store.now() });
    const hasten = async () => {
      await store.do('hasten', { kind: 'webhook' });
      rig.scheduler.wake('webhook');
    };
    const owe = (id: string) => settle(store, id, { url: receiver.url() }).then(hasten);
    const replay = (taskId: string) => replayDelivery({ ...rig, owner: OWNER, taskId });

    await owe('owed');
    await until(async () => (await rig.log('owed'))?.attempts.length === 1);
    assert.equal(await erase('owed'), true);
    assert.equal(await store.do('keepsBody', { taskId: 'owed' }), true);
    status = 200;
    await hasten();
    await until(async () => (await rig.log('owed'))?.state === 'delivered');
    assert.equal(await store.do('keepsBody', { taskId: 'owed' }), false);
    assert.match(String(receiver.received[1]?.body), /a secret of its owner/);

    await owe('sent');
    await until(async () => (await rig.log('sent'))?.state === 'delivered');
    assert.equal(await store.do('keepsBody', { taskId: 'sent' }), true);
    await erase('sent');
    for (const taskId of ['owed', 'sent']) {
      assert.equal(await store.do('keepsBody', { taskId }), false);
      await assert.rejects(replay(taskId), { code: 'not_found' });
    }
    assert.equal(receiver.received.length, 3);
  });
});
