/** One request, one task, however often it is sent; and how tasks are listed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '../../src/core/errors.ts';
import { encodeTask } from '../../src/videos/task-object.ts';
import { forEachStore } from '../store/stores.ts';
import { createRig, HOUR, MINUTE, newTask, OWNER, object, openVideoStore, SECOND, START } from './rig.ts';

forEachStore((name, open) => {
  test(`an idempotency key identifies its request for a day (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    const send = (changes = {}, owner = OWNER) => rig.videos.create(newTask(changes, { owner, idempotencyKey: 'k' }));
    const first = await send();
    assert.equal(first.replayed, false);
    const again = await send();
    assert.deepEqual([encodeTask(again.task, object), again.replayed], [encodeTask(first.task, object), true]);
    await assert.rejects(send({ metadata: { other: 'request' } }), { code: 'idempotency_key_reused' });
    assert.equal((await send({}, 'key-2')).replayed, false);
    rig.clock.advance(25 * HOUR);
    assert.equal((await send()).replayed, false);
  });

  test(`an idempotency key makes no second task after its own is gone (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    const send = () => rig.videos.create(newTask({}, { idempotencyKey: 'k' }));
    const { task } = await send();
    await rig.ended(task.id);
    await rig.videos.remove(OWNER, task.id);
    await assert.rejects(send(), { code: 'idempotency_key_reused' });
    const settledBefore = rig.clock.now() + 1;
    await rig.store.call('eraseVideoMedia', { id: task.id, assets: '[]' });
    await rig.work();
    assert.equal(await rig.store.call('pruneVideos', { settledBefore, limit: 10 }), 1);
    await assert.rejects(send(), { code: 'idempotency_key_reused' });
    rig.clock.advance(25 * HOUR);
    assert.equal((await send()).replayed, false);
  });

  test(`20 concurrent requests with one idempotency key create one task (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    const send = () => rig.videos.create(newTask({}, { idempotencyKey: 'k' }));
    const created = await Promise.all(Array.from({ length: 20 }, send));
    assert.equal(new Set(created.map(({ task }) => task.id)).size, 1);
    assert.equal(created.filter(({ replayed }) => !replayed).length, 1);
    assert.equal(await rig.store.do('countRows', { table: 'video_task' }), 1);
    assert.equal(await rig.store.do('countRows', { table: 'job' }), 1);
  });

  test(`a repeated request beside the first one, which takes all of the budget, gets its task (${name})`, async (context) => {
    const store = await openVideoStore(context, open);
    const stored = Promise.withResolvers<void>();
    const call = async (operation: never, parameters: never) => {
      if (operation === 'createVideo') await stored.promise;
      return store.call(operation, parameters);
    };
    const rig = await createRig(context, { store: { ...store, call } as never });
    let left = 1;
    let refused = 0;
    const reserve = async () => {
      left -= 1;
      if (left >= 0) return { headers: {}, release: async () => {} };
      refused += 1;
      throw new GatewayError('insufficient_quota', 'Nothing is left.');
    };
    const send = (idempotencyKey: string) => rig.videos.create(newTask({}, { idempotencyKey, reserve }));
    const first = send('k');
    while (left > 0) await delay(1);
    const others = [send('k'), send('k')];
    const another = assert.rejects(send('other'), { code: 'insufficient_quota' });
    while (refused < 3) await delay(1);
    await delay(20);
    stored.resolve();
    const { task } = await first;
    const pump = setInterval(() => rig.clock.advance(50), 5);
    context.after(() => clearInterval(pump));
    for (const other of await Promise.all(others)) assert.deepEqual([other.task.id, other.replayed], [task.id, true]);
    await another;
  });

  test(`a request marked as a retry returns the first task (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    const first = await rig.videos.create(newTask());
    const variant = await rig.videos.create(newTask());
    assert.notEqual(variant.task.id, first.task.id);
    rig.clock.advance(59 * SECOND);
    const again = await rig.videos.create(newTask({}, { retried: true }));
    assert.deepEqual([again.task.id, again.replayed], [variant.task.id, true]);
    assert.equal((await rig.videos.create(newTask({ user: 'other' }, { retried: true }))).replayed, false);
    rig.clock.advance(2 * SECOND);
    assert.equal((await rig.videos.create(newTask({}, { retried: true }))).replayed, false);
  });

  test(`identical requests create separate tasks, even with clock skew between gateways (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    const first = await rig.create();
    rig.clock.set(rig.clock.now() - SECOND);
    assert.notEqual((await rig.create()).id, first.id);
  });

  test(`tasks are listed page by page, newest or oldest first (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    const ids: string[] = [];
    for (let index = 0; index < 7; index++) {
      ids.push((await rig.create()).id);
      if (index % 2 === 0) rig.clock.advance(SECOND);
    }
    await rig.create({}, { owner: 'key-2' });
    await rig.videos.cancel(OWNER, ids[3] ?? '', { abandon: false });
    const page = async (order: 'asc' | 'desc', more = {}) => {
      const seen: string[] = [];
      for (let after: string | undefined; ; ) {
        const { tasks, next } = await rig.videos.list(OWNER, { limit: 2, order, after, ...more });
        seen.push(...tasks.map(({ id }) => id));
        if (next === undefined) return seen;
        after = next;
      }
    };
    const oldest = await page('asc');
    assert.deepEqual(oldest.toSorted(), ids.toSorted());
    assert.deepEqual(await page('desc'), oldest.toReversed());
    assert.deepEqual(await page('desc', { status: 'cancelled' }), [ids[3]]);
    assert.deepEqual(await page('desc', { model: 'up/other' }), []);
    await assert.rejects(page('asc', { after: 'nothing' }), { code: 'invalid_request' });
  });

  test(`a list goes on after a task that was deleted meanwhile (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    const ids: string[] = [];
    for (let index = 0; index < 5; index++) {
      const { id } = await rig.create();
      await rig.videos.cancel(OWNER, id, { abandon: false });
      ids.unshift(id);
      rig.clock.advance(SECOND);
    }
    for (const search of [undefined, 'quiet']) {
      const query = { limit: 2, order: 'desc', ...(search !== undefined && { search }) } as const;
      const { tasks, next } = await rig.videos.list(OWNER, query);
      assert.equal(tasks.at(-1)?.id, next);
      await rig.videos.remove(OWNER, next ?? '');
      const left = ids.filter((id) => id !== next);
      const after = await rig.videos.list(OWNER, { ...query, after: next });
      assert.deepEqual(
        after.tasks.map(({ id }) => id),
        left.slice(1, 3),
      );
      await assert.rejects(rig.videos.list('key-2', { ...query, after: next }), { code: 'invalid_request' });
      ids.splice(ids.indexOf(next ?? ''), 1);
    }
  });
});

test('identical requests within dedupe_window create one task', async (context) => {
  const rig = await createRig(context, { dedupeWindow: 5 * MINUTE });
  const first = await rig.create();
  assert.equal((await rig.create()).id, first.id);
  rig.clock.advance(6 * MINUTE);
  assert.notEqual((await rig.create()).id, first.id);
});

test('where the clock is set back by years, an identical request is a new one, not by an hour and not with its key', async (context) => {
  const rig = await createRig(context, { dedupeWindow: 5 * MINUTE });
  const first = await rig.create();
  const keyed = await rig.create({}, { idempotencyKey: 'k' });
  await rig.setBack(START - HOUR);
  assert.equal((await rig.create()).id, first.id);
  await rig.setBack(HOUR);
  const next = await rig.create();
  assert.notEqual(next.id, first.id);
  assert.equal((await rig.create()).id, next.id);
  assert.equal((await rig.create({}, { idempotencyKey: 'k' })).id, keyed.id);
});

test('dedupe_window holds beyond the day of an Idempotency-Key', async (context) => {
  const rig = await createRig(context, { dedupeWindow: 48 * HOUR });
  await rig.videos.start();
  const first = await rig.create();
  await rig.ended(first.id);
  rig.clock.advance(30 * HOUR);
  await rig.work();
  assert.equal((await rig.create()).id, first.id);
  rig.clock.advance(19 * HOUR);
  await rig.work();
  assert.notEqual((await rig.create()).id, first.id);
});

test('a provider without video support is refused before anything is stored', async (context) => {
  const rig = await createRig(context);
  const { model } = newTask().creation;
  await assert.rejects(rig.create({ model: { ...model, provider: 'gone' } }), { code: 'model_not_found' });
  assert.equal(await rig.store.do('countRows', { table: 'video_task' }), 0);
});
