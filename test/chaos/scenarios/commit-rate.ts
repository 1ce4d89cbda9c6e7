/** K7: how many tasks can be settled in a second, each with its cost and its webhook, durably. */

import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { VideoTask } from '../../../src/records/video-task.ts';
import type { VideoCreation } from '../../../src/store/operations/videos.ts';
import { providePostgres } from '../../store/postgres-server.ts';
import { atLeast, type Figure, noted, notRun } from '../figures.ts';
import { inTurns, type Scenario, type Stage } from '../stage.ts';
import { type ChaosStore, openData, openDatabase } from '../store.ts';

const TASKS = 5000;
const AT_ONCE = 256;

export const commitRate: Scenario = {
  id: 'commit-rate',
  title: 'Durable settlements per second',
  how:
    `${TASKS.toLocaleString('en-US')} open tasks are settled, ${AT_ONCE} at once: terminal status, cost and webhook in one transaction each, synced to the disk before it counts ` +
    '(SQLite with `synchronous=FULL`; PostgreSQL with `fsync` and `synchronous_commit` on).',
  async run(stage) {
    return [...(await measure(stage, 'SQLite', await openData(stage.folder()))), ...(await onPostgres(stage))];
  },
};

async function onPostgres(stage: Stage): Promise<Figure[]> {
  const database = await providePostgres();
  stage.atEnd(database.close);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query('SHOW fsync');
  await client.end();
  if (rows[0]?.fsync !== 'on') return [notRun('PostgreSQL', 'its server runs already, without fsync')];
  return measure(stage, 'PostgreSQL', await openDatabase(database.url));
}

async function measure(stage: Stage, engine: string, store: ChaosStore): Promise<Figure[]> {
  stage.atEnd(store.close);
  const tasks = Array.from({ length: TASKS }, () => taskAt(Date.now()));
  const created = await timed(() => inTurns(tasks, AT_ONCE, (task) => store.call('createVideo', creationOf(task))));
  stage.say(`${engine}: ${TASKS} tasks created`);
  const settled = await timed(() => inTurns(tasks, AT_ONCE, (task) => settle(store, task)));
  stage.say(`${engine}: ${TASKS} tasks settled`);
  const singly = 200;
  const alone = await timed(() =>
    inTurns(tasks.slice(0, singly), 1, (task) => store.call('createVideo', creationOf({ ...task, id: randomUUID() }))),
  );
  return [
    noted(`${engine}: tasks created`, TASKS / created, '/s'),
    atLeast(`${engine}: tasks settled`, TASKS / settled, 1000, '/s'),
    noted(`${engine}: one commit after the other`, singly / alone, '/s'),
  ];
}

async function settle(store: ChaosStore, task: VideoTask): Promise<void> {
  const now = Date.now();
  const { id: taskId, owner, model } = task;
  const changed = await store.call('saveVideo', {
    task: {
      ...task,
      status: 'completed',
      phase: 'done',
      seconds: 4,
      cost: 400_000_000_000n,
      updatedAt: now,
      settledAt: now,
    },
    settlement: {
      ledger: {
        taskId,
        owner,
        model,
        provider: 'up',
        seconds: 4,
        cost: 400_000_000_000n,
        source: 'catalog',
        createdAt: now,
      },
      delivery: {
        ...{ id: `${taskId}-completed`, taskId, owner, url: 'https://receiver.example/hook' },
        ...{ body: Buffer.alloc(800, 'x'), createdAt: now },
      },
    },
  });
  if (!changed) throw new Error(`task ${taskId} was settled before`);
}

function taskAt(now: number): VideoTask {
  return {
    ...{ id: randomUUID(), owner: 'key-1', model: 'up/film', prompt: 'A paper boat', details: { count: 1 } },
    ...{ status: 'in_progress', phase: 'polling', version: 1, cancelRequested: false, assets: [], memory: {} },
    ...{ callbackUrl: 'https://receiver.example/hook', createdAt: now, updatedAt: now, deadlineAt: now + 86_400_000 },
  };
}

function creationOf(task: VideoTask): VideoCreation {
  const { id, owner, createdAt } = task;
  return {
    task,
    request: '{"model":"film","prompt":"A paper boat"}',
    attempt: { id: randomUUID(), taskId: id, provider: 'up', credential: 'one', state: 'intent', createdAt },
    job: { kind: 'video', ref: id, lane: 'up/one', owner, dueAt: createdAt },
    idempotency: { key: `request:${id}`, digest: id, window: 0 },
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}
