/** Memory that an open stream holds while its upstream is slow. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { endEverything } from '../../bench/host/children.ts';
import { holdStreams } from '../../bench/load/held-streams.ts';
import { startPolygate } from '../../bench/subjects/polygate.ts';
import type { Subject, Upstreams } from '../../bench/subjects/subject.ts';
import { startUpstreams } from '../../bench/subjects/upstreams.ts';
import { slowStream } from '../../bench/workload.ts';

/** The first streams also pay for code and for what is made once. */
const FEW = 100;
const MANY = 600;
/** Live objects and buffers, some 20 % above what was measured; the memory of the process is a third above that. */
const MAX_BYTES = 39_000;

let upstreams: Upstreams | undefined;
let gateway: Subject | undefined;

before(async () => {
  upstreams = await startUpstreams();
  const preloads = [join(import.meta.dirname, 'heap-preload.ts')];
  const nodeOptions = ['--expose-gc'];
  gateway = await startPolygate({ name: 'measured', upstreams, trustsLoopback: true, nodeOptions, preloads });
});

after(async () => {
  await gateway?.stop();
  await upstreams?.stop();
  endEverything();
});

async function liveBytes(): Promise<number> {
  const answer = (await gateway?.probe?.('live bytes')) as { bytes?: number } | undefined;
  return answer?.bytes ?? Number.NaN;
}

test(`an open stream holds at most ${MAX_BYTES} bytes`, async (context) => {
  const target = gateway?.target(slowStream);
  assert.ok(target);
  const streams = holdStreams(target);
  context.after(() => streams.close());
  await streams.open(FEW);
  const withFew = await liveBytes();
  await streams.open(MANY - FEW);
  const withMany = await liveBytes();
  assert.equal(streams.standing(), MANY);
  const each = Math.round((withMany - withFew) / (MANY - FEW));
  context.diagnostic(`${each} bytes`);
  assert.ok(each <= MAX_BYTES, `${each} bytes`);
});
