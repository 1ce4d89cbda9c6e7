/** Cost of tasks in the usage records of their keys: once, whatever dies on the way. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERIODS, periodStart } from '../../src/records/key-settings.ts';
import { pruneRecords, RECORD_BYTES } from '../../src/usage/retention.ts';
import { createUsageHandler } from '../../src/videos/record-usage.ts';
import { forEachStore } from '../store/stores.ts';
import { claim, createRig, MINUTE, OWNER, openVideoStore, type Rig, SECOND, START, type VideoStore } from './rig.ts';
import { completed, says, scriptedApi } from './scripted.ts';

const DAY = 24 * 60 * MINUTE;
const USD = 1_000_000_000_000n;

async function used({ store }: Pick<Rig, 'store'>): Promise<{ requests: number; failures: number; spent: bigint[] }> {
  const hour = Math.floor(START / 3_600_000);
  const [sum] = await store.call('usageSums', { keyId: OWNER, from: hour - 1, to: hour + 48, by: [] });
  const starts = PERIODS.map((period) => ({ period, startsAt: periodStart(period, START) }));
  const rows = await store.call('spentBy', { subject: OWNER, starts });
  const spent = [sum?.cost ?? 0, ...rows.map((row) => row.spent)].map((amount) => BigInt(String(amount)));
  return { requests: Number(sum?.requests ?? 0), failures: Number(sum?.failures ?? 0), spent: [...new Set(spent)] };
}

/** A store whose caller dies before or after the n-th call from now on. */
function mortal(store: VideoStore, when: 'before' | 'after', count: number): VideoStore {
  let left = count;
  const call = async (name: string, parameters: unknown) => {
    left -= 1;
    if (left === 0 && when === 'before') throw new Error('killed');
    const result = await store.call(name as never, parameters as never);
    if (left === 0) throw new Error('killed');
    return result;
  };
  return { ...store, call } as VideoStore;
}

forEachStore((name, open) => {
  test(`a completed task creates a usage record of its key (${name})`, async (context) => {
    const rig = await createRig(context, { store: await openVideoStore(context, open) });
    rig.upstream.onPoll = () => completed({ cost: '0.7' });
    const { id } = await rig.create();
    await rig.ended(id);
    await rig.work();
    assert.ok(rig.woken.includes('video-use'));
    assert.deepEqual(await used(rig), { requests: 1, failures: 0, spent: [(USD * 7n) / 10n] });
    const record = await rig.store.call('usageRecord', { id, keyId: OWNER });
    assert.deepEqual(
      [record?.model, record?.endpoint_provider, record?.endpoint_model, record?.protocol_in, record?.status],
      ['up/video', 'up', 'video', 'videos', 'completed'],
    );
    assert.equal(await rig.store.do('countRows', { table: "job WHERE kind = 'video-use'" }), 0);
  });

  for (const when of ['before', 'after'] as const) {
    for (const step of [1, 2, 3]) {
      test(`killed ${when} the ${step}. step of recording: counted once (${name})`, async (context) => {
        const store = await openVideoStore(context, open);
        const rig = await createRig(context, { store });
        rig.upstream.onPoll = () => completed({ cost: '2' });
        const { id } = await rig.create();
        const { handlers } = rig.videos;
        const [handler] = handlers.splice(2, 1);
        assert.equal(handler?.kind, 'video-use');
        await rig.ended(id);
        handlers.push(handler);
        assert.equal((await used(rig)).requests, 0);
        const [job] = await claim(store, 'video-use', rig.clock.now());
        assert.ok(job);
        const dying = createUsageHandler({ store: mortal(store, when, step), clock: rig.clock } as never);
        await assert.rejects(dying.run(job, new AbortController().signal), /killed/);
        rig.clock.advance(2 * MINUTE);
        await rig.work();
        assert.deepEqual(await used(rig), { requests: 1, failures: 0, spent: [2n * USD] });
      });
    }
  }

  test(`a late cost corrects the usage record (${name})`, async (context) => {
    const store = await openVideoStore(context, open);
    const rig = await createRig(context, { store, video: { ...scriptedApi, cancel: undefined } });
    rig.upstream.onPoll = (before) => (before < 3 ? says({ type: 'running' }) : completed({ cost: '9' }));
    const { id } = await rig.create();
    await store.call('holdForTask', { taskId: id, keyId: OWNER, tags: '', amount: 4n * USD, createdAt: START });
    await rig.until(() => rig.upstream.polls === 1);
    await rig.videos.cancel(OWNER, id, { abandon: true });
    await rig.work();
    assert.deepEqual(await used(rig), { requests: 1, failures: 0, spent: [0n] });
    assert.equal(await store.do('countRows', { table: 'video_ledger' }), 1);
    // The upstream may go on: what it may cost stays reserved.
    assert.deepEqual(await held(store), [id]);
    await rig.until(async () => (await store.do('readVideoLedger', { taskId: id }))?.cost === 9n * USD, MINUTE);
    await rig.work();
    assert.deepEqual(await used(rig), { requests: 1, failures: 0, spent: [9n * USD] });
    assert.equal((await store.call('usageRecord', { id, keyId: OWNER }))?.cost, String(9n * USD));
    assert.deepEqual(await held(store), []);
  });

  test(`a record stays for the correction of its cost, however full the store is (${name})`, async (context) => {
    const store = await openVideoStore(context, open);
    const rig = await createRig(context, { store, video: { ...scriptedApi, cancel: undefined } });
    rig.upstream.onPoll = (before) => (before < 3 ? says({ type: 'running' }) : completed({ cost: '9' }));
    const { id } = await rig.create();
    await rig.until(() => rig.upstream.polls === 1);
    await rig.videos.cancel(OWNER, id, { abandon: true });
    await rig.work();
    assert.equal((await used(rig)).requests, 1);
    const later = START + 400 * DAY;
    const prune = () => pruneRecords({ store, now: () => later }, { keep: DAY, maxSize: RECORD_BYTES });
    assert.equal(await store.call('trimUsage', { before: later, limit: 10 }), 0);
    assert.equal(await prune(), 0);
    await rig.until(async () => (await store.do('readVideoLedger', { taskId: id }))?.cost === 9n * USD, MINUTE);
    await rig.work();
    assert.deepEqual(await used(rig), { requests: 1, failures: 0, spent: [9n * USD] });
    assert.equal(await prune(), 1);
  });

  test(`the reservation of a task that was never created is released, also while what expires does not follow the clock (${name})`, async (context) => {
    const store = await openVideoStore(context, open);
    const rig = await createRig(context, { store, expiry: { now: () => START } });
    rig.upstream.onPoll = () => says({ type: 'running' });
    const { id } = await rig.create();
    await rig.videos.start();
    for (const taskId of [id, 'never']) {
      await store.call('holdForTask', { taskId, keyId: OWNER, tags: '', amount: USD, createdAt: START });
    }
    // By a clock that was set back since.
    const ahead = { keyId: OWNER, tags: '', amount: USD, createdAt: START + 400 * DAY };
    await store.call('holdForTask', { taskId: 'ahead', ...ahead });
    await rig.work();
    // The task of one that is ahead may be created yet.
    assert.deepEqual(await held(store), [id, 'never', 'ahead'].toSorted());
    rig.clock.advance(30 * MINUTE);
    await rig.work();
    assert.deepEqual(await held(store), [id]);
  });

  test(`an outdated revision does not overwrite the usage record (${name})`, async (context) => {
    const store = await openVideoStore(context, open);
    const rig = await createRig(context, { store });
    rig.upstream.onPoll = () => completed({ cost: '2' });
    const { id } = await rig.create();
    await rig.ended(id);
    await rig.work();
    const {
      revision: _revision,
      day: _day,
      ...row
    } = (await store.call('usageRecord', { id, keyId: OWNER })) as never as Record<string, never>;
    const figure = (cost: bigint, revision: number) => ({
      row: { ...(row as object), cost, revision } as never,
      held: false,
    });
    await store.call('recordTaskUsage', figure(5n * USD, 3));
    await store.call('recordTaskUsage', figure(3n * USD, 2));
    await store.call('recordTaskUsage', figure(5n * USD, 3));
    assert.deepEqual(await used(rig), { requests: 1, failures: 0, spent: [5n * USD] });
    await store.call('recordTaskUsage', figure(4n * USD, 4));
    assert.deepEqual(await used(rig), { requests: 1, failures: 0, spent: [4n * USD] });
  });

  test(`a cost that changes during recording is recorded again (${name})`, async (context) => {
    const store = await openVideoStore(context, open);
    const rig = await createRig(context, { store });
    rig.upstream.onPoll = () => says({ type: 'failed', error: { code: 'upstream_error', message: 'no' } });
    const { id } = await rig.create();
    await rig.ended(id);
    await rig.work();
    assert.deepEqual((await used(rig)).failures, 1);
    await store.call('ensureJob', { kind: 'video-use', ref: id, lane: '', owner: OWNER, dueAt: START });
    const [job] = await claim(store, 'video-use', rig.clock.now());
    assert.ok(job);
    const lease = { id: job.id, lease: job.lease };
    await store.call('finishVideoUse', { lease, id, revision: 0, now: rig.clock.now() });
    assert.equal((await claim(store, 'video-use', rig.clock.now() + SECOND)).length, 1);
  });
});

async function held(store: VideoStore): Promise<string[]> {
  const tasks = await store.call('tasksWithHold', { before: 1e15, latest: 1e15, after: '', limit: 10 });
  return tasks.map(({ id }) => id);
}
