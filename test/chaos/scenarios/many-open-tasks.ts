/** A restart with very many open tasks, all of them due. */

import { randomUUID } from 'node:crypto';
import { keyCredential } from '../../../src/core/credential.ts';
import { createCredentials } from '../../../src/transport/credentials.ts';
import { atLeast, atMost, noted, percentile } from '../figures.ts';
import { startFilms } from '../film-upstream.ts';
import { ask, startGateway, threadUsageOf, usageOf } from '../gateway.ts';
import { pause, type Scenario, within } from '../stage.ts';
import { openData } from '../store.ts';

const TASKS = 100_000;
const SECONDS = 20;
const CHUNK = 1000;
/** Polls of one key in a second, and at once after a rest. */
const RATE = 10;
const BURST = 20;

export const manyOpenTasks: Scenario = {
  id: 'many-open-tasks',
  title: 'A restart with 100,000 open tasks',
  how: `${TASKS.toLocaleString('en-US')} tasks of one provider key are due when the gateway starts. For ${SECONDS} s the upstream counts polls.`,
  async run(stage) {
    const upstream = await startFilms(stage, {});
    const folder = stage.folder();
    await fill(folder);
    stage.say('the tasks are there');
    const gateway = await startGateway(stage, { folder, yaml: upstream.yaml });
    const response = await ask(`${gateway.url}/v1/videos?limit=1`);
    await within(5000, () => upstream.polls() > 0);
    const before = threadUsageOf(gateway.pid);
    const began = performance.now();
    const seconds: number[] = [];
    for (let second = 0; second < SECONDS; second++) {
      const before = upstream.polls();
      await pause(1000);
      seconds.push(upstream.polls() - before);
      stage.say(`${seconds.at(-1)} polls in the last second`);
    }
    const elapsed = performance.now() - began;
    // The main thread has the id of the process. Of the others, the writer of the state works most.
    const others = [...threadUsageOf(gateway.pid)].filter(([id]) => id !== gateway.pid);
    const busiest = Math.max(...others.map(([id, time]) => time - (before.get(id) ?? 0)));
    const memory = usageOf(gateway.pid)?.memory ?? 0;
    await gateway.kill();
    return [
      noted('until it listened', gateway.startedIn / 1000, 's'),
      noted('status of a list at once', response.status),
      atMost('polls in the busiest second', Math.max(...seconds), BURST + RATE + 1),
      noted('in the median second', percentile(seconds, 0.5)),
      atMost('polls in all', upstream.polls(), BURST + RATE * (SECONDS + 2)),
      atLeast('polls in all, at least', upstream.polls(), RATE * SECONDS),
      atMost('processor of the writer, of one core', (busiest / elapsed) * 100, 20, '%'),
      noted('memory', memory / 2 ** 20, 'MiB'),
    ];
  },
};

async function fill(folder: string): Promise<void> {
  const store = await openData(folder);
  const now = Date.now() - 60_000;
  const credential = createCredentials([keyCredential('one')]).all()[0]?.id ?? '';
  const owner = 'key-1';
  const task = {
    ...{ owner, model: 'up/film', request: '{}', details: '{"count":1}', status: 'queued', phase: 'polling' },
    ...{ version: 1, created_at: now, updated_at: now, deadline_at: now + 86_400_000 },
  };
  const attempt = { provider: 'up', credential, state: 'accepted', created_at: now, accepted_at: now };
  const job = { kind: 'video', lane: `poll:up/${credential}`, owner, due_at: now };
  for (let start = 0; start < TASKS; start += CHUNK) {
    const ids = Array.from({ length: CHUNK }, () => randomUUID());
    const insert = (table: string, row: (id: string) => Record<string, string | number>) =>
      store.do('insertRows', { table, rows: ids.map(row) });
    await insert('video_task', (id) => ({ ...task, id }));
    await insert('video_attempt', (id) => ({ ...attempt, id, task_id: id, upstream_ref: JSON.stringify({ id }) }));
    await insert('job', (id) => ({ ...job, id, ref: id }));
  }
  await store.close();
}
