/** System calls of a request: reads and writes of all threads, as the kernel counts them. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { endEverything } from '../../bench/host/children.ts';
import { closedLoop } from '../../bench/load/closed-loop.ts';
import { startPolygate } from '../../bench/subjects/polygate.ts';
import type { Subject, Upstreams } from '../../bench/subjects/subject.ts';
import { startUpstreams } from '../../bench/subjects/upstreams.ts';
import { passthrough } from '../../bench/workload.ts';

const CONNECTIONS = 16;
/** The journal makes its second file meanwhile, page by page. */
const WARM_UP_REQUESTS = 2500;
const REQUESTS = 3000;
/**
 * Two reads and two writes of sockets, and twice a write of the journal with its wake-up, where no two requests share one; the
 * rest is the log, the store and what begins a connection.
 */
const MAX_CALLS = 10;

let upstreams: Upstreams | undefined;
let gateway: Subject | undefined;

before(async () => {
  upstreams = await startUpstreams();
  gateway = await startPolygate({ name: 'measured', upstreams });
});

after(async () => {
  await gateway?.stop();
  await upstreams?.stop();
  endEverything();
});

function calls(): number {
  const text = readFileSync(`/proc/${gateway?.pid}/io`, 'utf8');
  return ['syscr', 'syscw'].reduce((sum, name) => sum + Number(new RegExp(`${name}: (\\d+)`).exec(text)?.[1]), 0);
}

test(`a whole answer takes at most ${MAX_CALLS} reads and writes`, async (context) => {
  const target = gateway?.target(passthrough);
  assert.ok(target);
  await closedLoop(target, { connections: CONNECTIONS, requests: WARM_UP_REQUESTS });
  const before = calls();
  const { ok, failed } = await closedLoop(target, { connections: CONNECTIONS, requests: REQUESTS });
  assert.deepEqual({ ok, failed }, { ok: REQUESTS, failed: 0 });
  const each = (calls() - before) / REQUESTS;
  context.diagnostic(`${each.toFixed(2)} reads and writes`);
  assert.ok(each > 4 && each <= MAX_CALLS, `${each}`);
});
