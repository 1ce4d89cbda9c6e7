/** Garbage of a request: what it allocates, and what of that becomes old, whose collection costs a multiple. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { endEverything } from '../../bench/host/children.ts';
import { closedLoop } from '../../bench/load/closed-loop.ts';
import { startPolygate } from '../../bench/subjects/polygate.ts';
import type { Subject, Upstreams } from '../../bench/subjects/subject.ts';
import { startUpstreams } from '../../bench/subjects/upstreams.ts';
import { limited, messagesToChat, passthrough, patched, type Workload } from '../../bench/workload.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import type { HeapQuestion } from './heap-preload.ts';

const CONNECTIONS = 16;
/** Code that is not optimized yet allocates more. */
const WARM_UP_REQUESTS = 4000;
const SAMPLED_REQUESTS = 2000;
/** Few enough that V8 does not collect the old generation meanwhile. */
const COLLECTED_REQUESTS = 1000;
/** In some of them, the records of a second go into the store. */
const WINDOWS = 3;

type Engine = 'sqlite' | 'postgres';

/** Bytes a request, some 20 % above what was measured, and half above what was old. With PostgreSQL these are groups that wait for their fold. */
const BOUNDS: [Engine, Workload, { allocated: number; old: number }][] = [
  ['sqlite', passthrough, { allocated: 90_000, old: 400 }],
  ['sqlite', patched, { allocated: 100_000, old: 400 }],
  ['sqlite', messagesToChat, { allocated: 150_000, old: 400 }],
  ['sqlite', limited, { allocated: 150_000, old: 400 }],
  ['postgres', passthrough, { allocated: 130_000, old: 2_800 }],
];

let upstreams: Upstreams | undefined;
let gateway: Subject | undefined;

before(async () => {
  upstreams = await startUpstreams();
});

after(async () => {
  await upstreams?.stop();
  endEverything();
});

async function start(database?: TestDatabase): Promise<void> {
  assert.ok(upstreams);
  const preloads = [join(import.meta.dirname, 'heap-preload.ts')];
  const options = { name: 'measured', upstreams, nodeOptions: ['--expose-gc'], preloads };
  gateway = await startPolygate({ ...options, ...(database && { database: database.url }) });
}

async function ask(question: HeapQuestion): Promise<number> {
  const answer = (await gateway?.probe?.(question)) as { bytes?: number } | undefined;
  return answer?.bytes ?? Number.NaN;
}

async function send(workload: Workload, requests: number): Promise<void> {
  const target = gateway?.target(workload);
  assert.ok(target);
  const { ok, failed } = await closedLoop(target, { connections: CONNECTIONS, requests });
  assert.deepEqual({ ok, failed }, { ok: requests, failed: 0 });
}

for (const [engine, workload, bound] of BOUNDS) {
  describe(`${workload.title}, ${engine}`, () => {
    let database: TestDatabase | undefined;
    before(async () => {
      if (engine === 'postgres') database = await providePostgres();
      await start(database);
      await send(workload, WARM_UP_REQUESTS);
    });
    after(async () => {
      await gateway?.stop();
      await database?.close();
    });

    test(`allocates at most ${bound.allocated} bytes`, async (context) => {
      await ask('sample');
      await send(workload, SAMPLED_REQUESTS);
      const allocated = Math.round((await ask('sampled')) / SAMPLED_REQUESTS);
      context.diagnostic(`${allocated} bytes`);
      assert.ok(allocated <= bound.allocated, `${allocated} bytes`);
    });

    test(`leaves at most ${bound.old} bytes in the old generation`, async (context) => {
      // What is there while requests are in flight becomes old, as it does under load.
      await Promise.all([send(workload, COLLECTED_REQUESTS), ask('old bytes')]);
      await ask('collect');
      await Promise.all([send(workload, COLLECTED_REQUESTS), ask('old bytes')]);
      const windows: number[] = [];
      for (let window = 0; window < WINDOWS; window++) {
        const before = await ask('old bytes');
        await send(workload, COLLECTED_REQUESTS);
        windows.push(((await ask('old bytes')) - before) / COLLECTED_REQUESTS);
      }
      const old = Math.round(Math.min(...windows));
      context.diagnostic(`${old} bytes`);
      assert.ok(old <= bound.old, `${old} bytes`);
    });
  });
}
