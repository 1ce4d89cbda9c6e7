/** Mirror retention: removal of files without a task and of abandoned partial files. */

import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { startHourlyCleanup } from '../../src/videos/mirror/index.ts';
import { makeVideo, type TestMirror, testMirror } from './mirror-origin.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const now = Date.UTC(2026, 10, 21);
const video = { type: 'data', data: makeVideo(1000).toString('base64') } as const;

let home: TestMirror;
beforeEach(() => {
  home = testMirror();
});
afterEach(() => home.close());

function age(milliseconds: number, ...names: string[]): void {
  const moment = new Date(now - milliseconds);
  for (const name of names) utimesSync(join(home.folder, 'videos', name), moment, moment);
}

test('files without a task are removed a day after the retention of tasks, not before', async () => {
  await home.keep(video, 'old');
  await home.keep(video, 'new');
  age(8 * DAY, ...home.files().filter((name) => name.startsWith('old')));
  age(8 * DAY - HOUR, ...home.files().filter((name) => name.startsWith('new')));
  assert.equal(await home.mirror.removeExpired(now), 2);
  assert.deepEqual(new Set(home.files().map((name) => name.split('/')[0])), new Set(['new']));
  assert.equal(await home.mirror.removeExpired(now), 0);
});

test('a partial file without progress for a day is removed', async () => {
  await home.keep(video, 'task');
  for (const name of ['1.part', '1.part.json', '2.part']) writeFileSync(join(home.folder, 'videos/task', name), 'x');
  age(DAY, ...home.files());
  age(DAY - HOUR, 'task/2.part');
  assert.equal(await home.mirror.removeExpired(now), 2);
  assert.equal(home.files().length, 3);
  assert.ok(home.files().includes('task/2.part'));
});

test('the removal runs once an hour until it is stopped, also after a failure', async () => {
  let callback: (() => void) | undefined;
  const clock = {
    now: () => now,
    monotonic: () => now,
    after(milliseconds: number, then: () => void) {
      assert.equal(milliseconds, HOUR);
      callback = then;
      return () => {
        callback = undefined;
      };
    },
  };
  const moments: number[] = [];
  const complaints: object[] = [];
  const removeExpired = async (moment: number) => {
    if (moments.push(moment) === 1) throw new Error('the object store is away');
    return 0;
  };
  const stop = startHourlyCleanup({ removeExpired }, clock, { warn: (details) => void complaints.push(details) });
  for (let hour = 0; hour < 2; hour++) {
    callback?.();
    await new Promise((later) => setImmediate(later));
  }
  assert.deepEqual([moments, complaints.length], [[now, now], 1]);
  stop();
  assert.equal(callback, undefined);
});
