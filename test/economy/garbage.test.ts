/** Garbage of a request: what it allocates, and what of that becomes old, whose collection costs a multiple. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { endEverything } from '../../bench/host/children.ts';
import { closedLoop } from '../../bench/load/closed-loop.ts';
import { startPolygate } from '../../bench/subjects/polygate.ts';
import type { Subject, Upstreams } from '../../bench/subjects/subject.ts';
import { startUpstreams } from '../../bench/subjects/upstreams.ts';
import { messagesToChat, passthrough, patched, type Workload } from '../../bench/workload.ts';
import type { HeapQuestion } from './heap-preload.ts';

const CONNECTIONS = 16;
/** Code that is not optimized yet allocates more. */
const WARM_UP_REQUESTS = 4000;
const SAMPLED_REQUESTS = 2000;
/** Few enough that V8 does not collect the old generation meanwhile. */
const COLLECTED_REQUESTS = 1000;

/** Bytes a request, some 20 % above what was measured. */
const BOUNDS: [Workload, { allocated: number; old: number }][] = [
  [passthrough, { allocated: 90_000, old: 1600 }],
  [patched, { allocated: 100_000, old: 1600 }],
  [messagesToChat, { allocated: 150_000, old: 2200 }],
];

let upstreams: Upstreams | undefined;
let gateway: Subject | undefined;

before(async () => {
  upstreams = await startUpstreams();
  const preloads = [join(import.meta.dirname, 'heap-preload.ts')];
  gateway = await startPolygate({ name: 'measured', upstreams, nodeOptions: ['--expose-gc'], preloads });
});

after(async () => {
  await gateway?.stop();
  await upstreams?.stop();
  endEverything();
});

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

for (const [workload, bound] of BOUNDS) {
  describe(workload.title, () => {
    before(() => send(workload, WARM_UP_REQUESTS));

    test(`allocates at most ${bound.allocated} bytes`, async (context) => {
      await ask('sample');
      await send(workload, SAMPLED_REQUESTS);
      const allocated = Math.round((await ask('sampled')) / SAMPLED_REQUESTS);
      context.diagnostic(`${allocated} bytes`);
      assert.ok(allocated <= bound.allocated, `${allocated} bytes`);
    });

    test(`leaves at most ${bound.old} bytes in the old generation`, async (context) => {
      await ask('collect');
      const before = await ask('old bytes');
      await send(workload, COLLECTED_REQUESTS);
      const old = Math.round(((await ask('old bytes')) - before) / COLLECTED_REQUESTS);
      context.diagnostic(`${old} bytes`);
      assert.ok(old <= bound.old, `${old} bytes`);
    });
  });
}
