/** Collections while large bodies come: what a body was parsed into dies with the young generation. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { endEverything } from '../../bench/host/children.ts';
import { closedLoop } from '../../bench/load/closed-loop.ts';
import { startPolygate } from '../../bench/subjects/polygate.ts';
import type { Subject, Upstreams } from '../../bench/subjects/subject.ts';
import { startUpstreams } from '../../bench/subjects/upstreams.ts';
import { large } from '../../bench/workload.ts';

const CONNECTIONS = 2;
const WARM_UP_REQUESTS = 30;
const REQUESTS = 60;
/** Some 30 if a long string stood outside of the heap. */
const MAX_MAJOR_COLLECTIONS = 15;
/** Of the main thread, whose isolate has the first address. */
const COLLECTION = /^\[\d+:(0x[0-9a-f]+)\] .*(Mark-Compact|Scavenge) /gm;

let upstreams: Upstreams | undefined;
let gateway: Subject | undefined;

before(async () => {
  upstreams = await startUpstreams();
  gateway = await startPolygate({ name: 'large bodies', upstreams, nodeOptions: ['--trace-gc'] });
});

after(async () => {
  await gateway?.stop();
  await upstreams?.stop();
  endEverything();
});

function majorCollections(): number {
  const log = readFileSync(`/proc/${gateway?.pid}/cwd/log`, 'utf8');
  const all = [...log.matchAll(COLLECTION)];
  return all.filter(([, isolate, kind]) => isolate === all[0]?.[1] && kind === 'Mark-Compact').length;
}

test(`${REQUESTS} requests of 5 MB mark the heap at most ${MAX_MAJOR_COLLECTIONS} times`, async (context) => {
  const target = gateway?.target(large);
  assert.ok(target);
  await closedLoop(target, { connections: CONNECTIONS, requests: WARM_UP_REQUESTS });
  const before = majorCollections();
  const { ok } = await closedLoop(target, { connections: CONNECTIONS, requests: REQUESTS });
  assert.equal(ok, REQUESTS);
  const count = majorCollections() - before;
  context.diagnostic(`${count} collections of the old generation`);
  assert.ok(count <= MAX_MAJOR_COLLECTIONS, `${count} collections`);
});
