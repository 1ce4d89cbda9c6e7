/** Webhooks are kept for as long as the records of their tasks, and no longer. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VideoTask } from '../../src/core/video-task.ts';
import { deliveryOf } from '../../src/webhooks/envelope.ts';
import { openJobStore } from '../jobs/rig.ts';
import { forEachStore } from '../store/stores.ts';

const AT = 1_800_000_000_000;

function newTask(id: string): VideoTask {
  return {
    ...{ id, owner: 'key-1', model: 'sandbox/video', prompt: 'a secret of its owner', details: { count: 1 } },
    ...{ status: 'queued', phase: 'submitting', version: 1, cancelRequested: false, assets: [], memory: {} },
    ...{ createdAt: AT, updatedAt: AT, deadlineAt: AT + 1000 },
  } as VideoTask;
}

forEachStore((name, open) => {
  test(`a webhook and its log go with the record of their task (${name})`, async (context) => {
    const store = await openJobStore(context, open);
    for (const id of ['old', 'young']) {
      const task = newTask(id);
      const attempt = { id, taskId: id, provider: 'p', credential: 'c', state: 'intent', createdAt: AT } as const;
      const job = { kind: 'video', ref: id, lane: '', owner: 'key-1', dueAt: AT };
      const idempotency = { key: id, digest: id, window: 0 };
      await store.do('createVideo', { task, request: '{}', attempt, job, idempotency });
      const settledAt = id === 'old' ? AT : AT + 2;
      const shown = { id, status: 'cancelled', prompt: task.prompt };
      const url = 'https://example.org/';
      const settled = { taskId: id, status: 'cancelled', url, owner: 'key-1', createdAt: AT, task: shown } as const;
      const figures = { taskId: id, owner: 'key-1', model: task.model, provider: 'p', seconds: 0, cost: 0n };
      const ledger = { ...figures, source: 'none', createdAt: AT } as const;
      const ended = { ...task, status: 'cancelled', phase: 'done', seconds: 0, cost: 0n, settledAt } as const;
      await store.do('saveVideo', { task: ended, settlement: { ledger, delivery: deliveryOf(settled) } });
      await store.do('startReplay', { deliveryId: `${id}-cancelled`, owner: 'key-1', now: AT });
    }
    assert.equal(await store.do('pruneVideos', { settledBefore: AT + 1, limit: 10 }), 1);
    assert.equal(await store.do('readDelivery', { taskId: 'old' }), undefined);
    assert.ok(await store.do('readDelivery', { taskId: 'young' }));
    const left = await store.do('listJobs', { kind: 'webhook' });
    assert.deepEqual(left.map(({ ref }) => ref).sort(), ['young-cancelled', 'young-cancelled/replay']);
  });
});
