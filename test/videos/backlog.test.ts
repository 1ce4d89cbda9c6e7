/** A gateway that starts with far more due tasks than a provider key may be polled for. */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createScheduler } from '../../src/jobs/scheduler.ts';
import { MIGRATIONS_FOLDER } from '../../src/store/migrations.ts';
import { type Activity, createActivity, passing } from '../jobs/activity.ts';
import { silent } from '../jobs/rig.ts';
import { forEachStore, type OpenTestStore, openTestSqlite } from '../store/stores.ts';
import {
  claim,
  createRig,
  MINUTE,
  newTask,
  OWNER,
  openVideoStore,
  type Rig,
  SECOND,
  START,
  type VideoStore,
} from './rig.ts';
import { says } from './scripted.ts';

/** Polls of one provider key in a second, and at once after a pause. */
const RATE = 10;
const BURST = 20;
const SECONDS = 10;
const OPERATIONS = new URL('./operations.ts', import.meta.url);

forEachStore((name, open) => {
  test(`a backlog of due tasks costs no more than the polls that are made (${name})`, async (context) => {
    const small = await pollBacklog(context, open, 300);
    const large = await pollBacklog(context, open, 3_000);
    for (const { polls, saves } of [small, large]) {
      assert.ok(polls >= RATE * (SECONDS - 1), `${polls} polls`);
      assert.ok(polls <= BURST + RATE * (SECONDS + 1), `${polls} polls`);
      assert.ok(saves <= polls + RATE, `${saves} changes of tasks for ${polls} polls`);
    }
    const message = `${large.calls} store calls, and ${small.calls} for a tenth of the tasks`;
    assert.ok(large.calls <= 1.5 * small.calls, message);
  });
});

test('submissions and cancellations do not wait for a backlog of polls', async (context) => {
  const { rig, store, activity, schedule } = await createBacklog(context, openTestSqlite, 1_000);
  schedule();
  await passing({ clock: rig.clock, activity, most: MINUTE }, () => rig.upstream.polls >= BURST);
  await rig.videos.cancel(OWNER, 'task-999', { abandon: false });
  const { request } = newTask().creation;
  const { id } = await rig.create({ request: { ...request, prompt: 'another lake' } });
  const isAccepted = async () => (await store.call('loadVideo', { id }))?.attempt.state === 'accepted';
  const isDone = async () => rig.upstream.cancels === 1 && (await isAccepted());
  const took = await passing({ clock: rig.clock, activity, most: MINUTE }, isDone);
  assert.ok(took <= 2 * SECOND, `${took} ms`);
});

interface Backlog {
  rig: Rig;
  store: VideoStore;
  activity: Activity;
  /** Number of store calls by name. */
  calls: Map<string, number>;
  schedule(): void;
}

async function pollBacklog(context: TestContext, open: OpenTestStore, tasks: number) {
  const { rig, activity, calls, schedule } = await createBacklog(context, open, tasks);
  calls.clear();
  schedule();
  const end = rig.clock.now() + SECONDS * SECOND;
  await passing({ clock: rig.clock, activity, most: MINUTE }, () => rig.clock.now() >= end);
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
  return { polls: rig.upstream.polls, saves: calls.get('saveVideo') ?? 0, calls: total };
}

/** Tasks that all became due an hour ago, and one that makes the credential known. */
async function createBacklog(context: TestContext, open: OpenTestStore, tasks: number): Promise<Backlog> {
  const opened = await openVideoStore(context, open);
  const activity = createActivity();
  const calls = new Map<string, number>();
  const call = activity.track((name: string, parameters: unknown) => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    return opened.call(name as never, parameters as never) as Promise<unknown>;
  });
  const store: VideoStore = { ...opened, call: call as VideoStore['call'], do: call as VideoStore['do'] };
  const rig = await createRig(context, { store });
  rig.upstream.onPoll = () => says({ type: 'running' });
  const { id } = await rig.create();
  await rig.work();
  const { attempt } = (await store.call('loadVideo', { id })) ?? {};
  assert.ok(attempt);
  await fill(store, tasks, attempt.credential);
  rig.clock.advance(60 * MINUTE);
  return {
    ...{ rig, store, activity, calls },
    schedule() {
      const handlers = rig.videos.handlers
        .filter(({ kind }) => kind === 'video')
        .map((handler) => ({ ...handler, run: activity.track(handler.run) }));
      const scheduler = createScheduler({ store, handlers, log: silent, clock: rig.clock });
      context.after(() => scheduler.stop(0));
    },
  };
}

async function fill(
  store: VideoStore,
  count: number,
  credential: string,
  lane = `poll:up/${credential}`,
): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `task-${index}`);
  const task = {
    ...{ owner: OWNER, model: 'up/video', request: '{}', details: '{"count":1}', status: 'queued', phase: 'polling' },
    ...{ version: 1, created_at: START, updated_at: START, deadline_at: START + 1000 * MINUTE },
  };
  const attempt = { provider: 'up', credential, state: 'accepted', created_at: START, accepted_at: START };
  const job = { kind: 'video', lane, owner: OWNER, due_at: START };
  await store.do('insertRows', { table: 'video_task', rows: ids.map((id) => ({ ...task, id })) });
  await store.do('insertRows', {
    table: 'video_attempt',
    rows: ids.map((id) => ({ ...attempt, id, task_id: id, upstream_ref: JSON.stringify({ id }) })),
  });
  await store.do('insertRows', { table: 'job', rows: ids.map((id) => ({ ...job, id, ref: id })) });
}

forEachStore((name, open) => {
  test(`the migration moves jobs that only poll to lanes of their own (${name})`, async (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'polygate-migrations-'));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(MIGRATIONS_FOLDER, folder, { recursive: true });
    const migration = join(folder, 'state/0007-poll-lanes.sql');
    rmSync(migration);
    const store = await open(context, { migrations: pathToFileURL(`${folder}/`), operations: OPERATIONS });
    const rows = { ...store, do: store.call } as unknown as VideoStore;
    await fill(rows, 2, 'one', 'up/one');
    await rows.do('insertRows', {
      table: 'job',
      rows: [{ id: 'x', kind: 'video', ref: 'x', lane: 'up/one', due_at: 1 }],
    });
    cpSync(new URL('state/0007-poll-lanes.sql', MIGRATIONS_FOLDER), migration);
    const next = await store.beside();
    const jobs = await claim(next, 'video', START);
    const lanes = jobs.map(({ ref, lane }) => `${ref} ${lane}`).sort();
    assert.deepEqual(lanes, ['task-0 poll:up/one', 'task-1 poll:up/one', 'x up/one']);
  });
});
