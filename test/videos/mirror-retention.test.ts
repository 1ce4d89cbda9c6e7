/** What the mirror removes by itself. */

import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
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

test('media go after seven days, and not before', async () => {
  await home.keep(video, 'old');
  await home.keep(video, 'new');
  age(7 * DAY, ...home.files().filter((name) => name.startsWith('old')));
  age(7 * DAY - HOUR, ...home.files().filter((name) => name.startsWith('new')));
  assert.equal(await home.mirror.expire(now), 2);
  assert.deepEqual(
    home.files().map((name) => name.split('/')[0]),
    ['new', 'new'],
  );
  assert.equal(await home.mirror.expire(now), 0);
});

test('files without a task go, but not while they are new', async () => {
  for (const id of ['wanted', 'orphan', 'fresh']) await home.keep(video, id);
  age(2 * HOUR, ...home.files().filter((name) => !name.startsWith('fresh')));
  age(0, ...home.files().filter((name) => name.startsWith('fresh')));
  const asked: string[] = [];
  const wanted = async (ids: string[]) => {
    asked.push(...ids);
    return new Set(['wanted']);
  };
  assert.equal(await home.mirror.sweep(now, wanted), 2);
  assert.deepEqual(asked.sort(), ['orphan', 'wanted']);
  assert.deepEqual([...new Set(home.files().map((name) => name.split('/')[0]))], ['fresh', 'wanted']);
});

test('a part that nothing was added to for a day goes, whoever wants it', async () => {
  await home.keep(video, 'task');
  for (const name of ['task/1.part', 'task/1.part.json', 'task/2.part'])
    writeFileSync(join(home.folder, 'videos', name), 'x');
  age(0, ...home.files());
  age(DAY, 'task/1.part', 'task/1.part.json');
  assert.equal(await home.mirror.sweep(now, async () => new Set(['task'])), 2);
  assert.ok(home.files().includes('task/2.part'));
  assert.equal(home.files().length, 3);
});
