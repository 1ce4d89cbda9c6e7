/** Memory of an idle gateway: its threads call the built-in functions of V8 in one place. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { endEverything } from '../../bench/host/children.ts';
import { startPolygate } from '../../bench/subjects/polygate.ts';
import type { Subject, Upstreams } from '../../bench/subjects/subject.ts';
import { startUpstreams } from '../../bench/subjects/upstreams.ts';

let upstreams: Upstreams | undefined;
let gateway: Subject | undefined;

before(async () => {
  upstreams = await startUpstreams();
  gateway = await startPolygate({ name: 'idle', upstreams, withProbe: false });
});

after(async () => {
  await gateway?.stop();
  await upstreams?.stop();
  endEverything();
});

test('threads of the store have no built-in functions of their own', () => {
  const maps = readFileSync(`/proc/${gateway?.pid}/maps`, 'utf8');
  const offsets = maps.split('\n').flatMap((line) => / r-xp (\w+) .*\/node$/.exec(line)?.[1] ?? []);
  assert.ok(offsets.length > 0, maps);
  // On machines with 4 GB of memory, V8 maps the functions a second time for the main thread.
  assert.equal(new Set(offsets).size, offsets.length, maps);
});
