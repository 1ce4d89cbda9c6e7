/** Optimistic locking of video tasks: changes from an outdated version do nothing. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VideoTask } from '../../src/records/video-task.ts';
import { forEachStore } from './stores.ts';

const AT = 1_800_000_000_000;

const task = {
  ...{ id: 'a', owner: 'key-1', model: 'sandbox/video', prompt: 'a cat', details: { count: 1 }, progress: 0 },
  ...{ status: 'queued', phase: 'submitting', version: 1, cancelRequested: false, assets: [], memory: {} },
  ...{ createdAt: AT, updatedAt: AT, deadlineAt: AT + 1000 },
} as VideoTask;

forEachStore((name, openStore) => {
  test(`of changes with the same view one is written (${name})`, async (context) => {
    const store = await openStore(context);
    const stores = [store, await store.beside()];
    await store.call('createVideo', {
      task,
      request: '{"prompt":"a cat"}',
      attempt: { id: 'a', taskId: 'a', provider: 'p', credential: 'c', state: 'intent', createdAt: AT },
      job: { kind: 'video', ref: 'a', lane: '', owner: 'key-1', dueAt: AT },
      idempotency: { key: 'a', digest: 'a', window: 0 },
    });
    for (let version = 1; version <= 5; version++) {
      const written = await Promise.all(
        Array.from({ length: 6 }, (_, progress) =>
          stores[progress % 2]?.call('saveVideo', { task: { ...task, version, progress } }),
        ),
      );
      assert.equal(written.filter(Boolean).length, 1);
      const found = await store.call('readVideo', { id: 'a' });
      assert.deepEqual([found?.version, found?.progress], [version + 1, written.indexOf(true)]);
    }
  });

  test(`a clock that is set back takes the moment of a submission with it (${name})`, async (context) => {
    const store = await openStore(context);
    const attempt = { id: 'a', taskId: 'a', provider: 'p', credential: 'c', state: 'sending', createdAt: AT } as const;
    await store.call('createVideo', {
      task,
      request: '{"prompt":"a cat"}',
      attempt: { ...attempt, sentAt: AT },
      job: { kind: 'video', ref: 'a', lane: '', owner: 'key-1', dueAt: AT + 1000 },
      idempotency: { key: 'a', digest: 'a', window: 0 },
    });
    const hour = 3_600_000;
    const shift = (kind: string) => store.call('shiftJobs', { kind, now: AT - hour + 10, by: hour });
    const sentAt = async () => (await store.call('loadVideo', { id: 'a' }))?.attempt.sentAt;
    await shift('webhook');
    assert.equal(await sentAt(), AT);
    await shift('video');
    assert.equal(await sentAt(), AT - hour);
  });
});
