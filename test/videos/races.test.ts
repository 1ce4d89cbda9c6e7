/** Races: concurrent ends of the same tasks, and thousands of tasks due at once after a restart. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTerminal } from '../../src/records/video-task.ts';
import { encodeTask } from '../../src/videos/task-object.ts';
import { forEachStore } from '../store/stores.ts';
import { claim, createRig, MINUTE, OWNER, object, openVideoStore, type Rig, SECOND, START } from './rig.ts';
import { completed, says, scriptedApi } from './scripted.ts';

const TASKS = 1000;
const GROUP = 100;
/** On a machine that is busy with other tests. */
const LONG = { timeout: 120_000 };

forEachStore((name, open) => {
  test(
    `cancellation, completion, deadline and two workers end ${TASKS} tasks once each (${name})`,
    LONG,
    async (context) => {
      const store = await openVideoStore(context, open);
      const video = { ...scriptedApi, cancel: undefined };
      const one = await createRig(context, { store, video, pollRate: Number.POSITIVE_INFINITY });
      const beside = await store.beside();
      const two = await createRig(context, {
        ...{
          store: { ...store, ...beside, do: store.do },
          video,
          url: one.upstream.url,
          pollRate: Number.POSITIVE_INFINITY,
        },
      });
      // A third is done, a third has failed, and a third goes on beyond its deadline.
      one.upstream.onPoll = (_before, id) => {
        const reports = [completed(), says({ type: 'failed', error: { code: 'upstream_error', message: 'x' } })];
        return reports[Number(id.slice(3)) % 3] ?? says({ type: 'running' });
      };
      const seen = { statuses: new Set<string>(), tasks: 0 };
      for (let start = 0; start < TASKS; start += GROUP) {
        const ids = await Promise.all(
          Array.from({ length: GROUP }, async (_none, index) => {
            const { id } = await one.create({ expiresAfter: 60, user: String(index) });
            return id;
          }),
        );
        await one.work();
        one.clock.advance(MINUTE);
        two.clock.set(one.clock.now());
        await endAll(one, two, ids);
        await Promise.all(ids.map((id) => check(one, id, seen)));
      }
      assert.equal(seen.tasks, TASKS);
      assert.ok(seen.statuses.size >= 3, [...seen.statuses].join());
      assert.equal(one.upstream.submissions.length, TASKS);
      assert.equal(await store.do('countRows', { table: 'delivery' }), TASKS);
      assert.equal(await store.do('countRows', { table: 'video_ledger' }), TASKS);
      assert.equal((await store.do('countJobs', { kind: 'video', now: 0 })).waiting, 0);
    },
  );
});

/** Both workers believe that they hold every job, and the caller gives up a part of the tasks. */
async function endAll(one: Rig, two: Rig, ids: string[]): Promise<void> {
  const jobs = await claim(one.store, 'video', one.clock.now());
  assert.equal(jobs.length, ids.length);
  const { signal } = new AbortController();
  const run = (rig: Rig) => jobs.map((job) => rig.videos.handlers[0]?.run(job, signal));
  const cancel = ids
    .filter((_id, index) => index % 2 === 0)
    .map((id) => one.videos.cancel(OWNER, id, { abandon: true }));
  await Promise.all([...run(one), ...cancel, ...run(two)]);
}

async function check(rig: Rig, id: string, seen: { statuses: Set<string>; tasks: number }): Promise<void> {
  const task = await rig.get(id);
  assert.ok(isTerminal(task.status));
  const [delivery, ...others] = await rig.store.do('deliveriesOf', { taskId: id });
  assert.equal(others.length, 0);
  assert.equal(delivery?.id, `${id}-${task.status}`);
  assert.deepEqual(JSON.parse(delivery.body).data, encodeTask(task, object));
  seen.statuses.add(task.status);
  seen.tasks += 1;
}

test('after a restart with 10,000 open tasks no credential exceeds its poll rate', async (context) => {
  const rig = await createRig(context, { pollRate: 10 });
  rig.upstream.onPoll = () => says({ type: 'running' });
  const { id } = await rig.create();
  await rig.work();
  const { attempt } = (await rig.store.call('loadVideo', { id })) ?? {};
  assert.ok(attempt);
  await fill(rig, 10_000, attempt.credential);
  rig.clock.advance(10 * SECOND);
  const before = rig.upstream.polls;
  await rig.work();
  assert.ok(rig.upstream.polls - before <= 20, `${rig.upstream.polls - before} at once`);
  for (let second = 1; second <= 30; second++) {
    const last = rig.upstream.polls;
    rig.clock.advance(SECOND);
    await rig.work();
    assert.ok(rig.upstream.polls - last <= 11, `${rig.upstream.polls - last} in second ${second}`);
  }
  assert.ok(rig.upstream.polls - before >= 290);
});

test('no credential exceeds its poll rate when all of them are past their deadline', async (context) => {
  const rig = await createRig(context, { pollRate: 10 });
  rig.upstream.onPoll = () => says({ type: 'running' });
  const { id } = await rig.create();
  await rig.work();
  const { attempt } = (await rig.store.call('loadVideo', { id })) ?? {};
  assert.ok(attempt);
  await fill(rig, 200, attempt.credential);
  rig.clock.advance(2000 * MINUTE);
  await rig.work();
  assert.ok(rig.upstream.polls <= 20, `${rig.upstream.polls} at once`);
  for (let second = 1; second <= 20; second++) {
    rig.clock.advance(SECOND);
    await rig.work();
  }
  assert.equal((await rig.get('task-199')).status, 'expired');
});

async function fill({ store }: Rig, count: number, credential: string): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `task-${index}`);
  const task = {
    ...{ owner: OWNER, model: 'up/video', request: '{}', details: '{"count":1}', status: 'queued', phase: 'polling' },
    ...{ version: 1, created_at: START, updated_at: START, deadline_at: START + 1000 * MINUTE },
  };
  const attempt = { provider: 'up', credential, state: 'accepted', created_at: START, accepted_at: START };
  const job = { kind: 'video', lane: `up/${credential}`, owner: OWNER, due_at: START };
  await store.do('insertRows', { table: 'video_task', rows: ids.map((id) => ({ ...task, id })) });
  await store.do('insertRows', {
    table: 'video_attempt',
    rows: ids.map((id) => ({ ...attempt, id, task_id: id, upstream_ref: JSON.stringify({ id }) })),
  });
  await store.do('insertRows', { table: 'job', rows: ids.map((id) => ({ ...job, id, ref: id })) });
}
