/** Collections of an idle gateway: they keep the hidden classes of requests, so that code optimized for them stays. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { endEverything } from '../../bench/host/children.ts';
import { closedLoop } from '../../bench/load/closed-loop.ts';
import { startPolygate } from '../../bench/subjects/polygate.ts';
import type { Subject, Upstreams } from '../../bench/subjects/subject.ts';
import { startUpstreams } from '../../bench/subjects/upstreams.ts';
import { passthrough } from '../../bench/workload.ts';

const REQUESTS = 6000;
const POLL_INTERVAL_MS = 100;
const TIMEOUT_MS = 120_000;
/** Eight seconds by default. */
const EARLY_COLLECTIONS = '--gc-memory-reducer-start-delay-ms=200';
/** Of the main thread, whose isolate has the first address; `(reduce)` gives up hidden classes without objects. */
const COLLECTION = /^\[\d+:(0x[0-9a-f]+)\] .*Mark-Compact (\(reduce\))?/gm;

let upstreams: Upstreams | undefined;
let gateway: Subject | undefined;

before(async () => {
  upstreams = await startUpstreams();
  gateway = await startPolygate({ name: 'idle', upstreams, nodeOptions: ['--trace-gc', EARLY_COLLECTIONS] });
});

after(async () => {
  await gateway?.stop();
  await upstreams?.stop();
  endEverything();
});

/** Whether each collection of the old generation of the main thread so far gave up hidden classes. */
function collections(): boolean[] {
  const log = readFileSync(`/proc/${gateway?.pid}/cwd/log`, 'utf8');
  const all = [...log.matchAll(COLLECTION)];
  return all.filter(([, isolate]) => isolate === all[0]?.[1]).map(([, , reduce]) => reduce !== undefined);
}

test('a collection in a pause gives up no hidden classes', { timeout: TIMEOUT_MS }, async () => {
  const target = gateway?.target(passthrough);
  assert.ok(target);
  await closedLoop(target, { connections: 16, requests: REQUESTS });
  const before = collections().length;
  while (collections().length === before) await delay(POLL_INTERVAL_MS);
  assert.deepEqual(collections().slice(before), [false]);
});
