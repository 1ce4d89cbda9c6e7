/** The journal: what is durable is found again, whatever happens to what is not. */

import assert from 'node:assert/strict';
import { constants, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { tryLockFolder } from '../../../src/store/sqlite/folder-lock.ts';
import { nodeDisk } from '../../../src/usage/journal/disk.ts';
import { takeAbandonedFolders, takeJournalFolder } from '../../../src/usage/journal/folder.ts';
import { HEADER_BYTES, RECORD_KINDS } from '../../../src/usage/journal/format.ts';
import { readMarker } from '../../../src/usage/journal/marker.ts';
import { createSegmentPool } from '../../../src/usage/journal/segments.ts';
import { surveyJournal } from '../../../src/usage/journal/survey.ts';
import { createManualClock } from '../../jobs/manual-clock.ts';
import { breakableDisk } from './disks.ts';
import { type Appended, append, close, ids, openJournal, SEGMENT_BYTES, temporaryFolder } from './journals.ts';

const WINDOWS = process.platform === 'win32';

test('records are found again in their order, and what began without an end is open', async (context) => {
  const folder = temporaryFolder(context);
  const { journal } = await openJournal(folder);
  const { begin, end, withdrawn } = RECORD_KINDS;
  for (const id of ['a', 'b', 'c', 'd']) await append(journal, begin, id);
  await append(journal, end, 'b', 'é\u0000"');
  await append(journal, withdrawn, 'c');
  await append(journal, end, 'a');
  await close(journal);
  const found = await openJournal(folder);
  assert.deepEqual(ids(found.ends), ['b', 'a']);
  assert.equal(JSON.parse(found.ends[0]?.payload ?? '')[1], 'é\u0000"');
  assert.deepEqual([...found.open.keys()], ['d']);
  assert.deepEqual(found.losses, []);
});

test('records that come during a write form one group', async (context) => {
  const disk = breakableDisk();
  const { journal } = await openJournal(temporaryFolder(context), { disk });
  await append(journal, RECORD_KINDS.begin, 'first');
  let writes = 0;
  disk.onWrite = ({ at }) => {
    // At the start of a file is what marks the segment.
    if (at > 0) writes += 1;
  };
  disk.held = true;
  const all = ['a', 'b', 'c', 'd', 'e'].map((id) => append(journal, RECORD_KINDS.begin, id));
  while (writes === 0) await new Promise(setImmediate);
  all.push(append(journal, RECORD_KINDS.end, 'a'), append(journal, RECORD_KINDS.end, 'b'));
  assert.equal(journal.waiting, 7);
  disk.letThrough();
  await Promise.all(all);
  assert.deepEqual([writes, journal.waiting], [2, 0]);
  await close(journal);
});

test('records that come in a turn of the event loop and in the next form one group', async (context) => {
  const disk = breakableDisk();
  const { journal } = await openJournal(temporaryFolder(context), { disk });
  await append(journal, RECORD_KINDS.begin, 'first');
  let writes = 0;
  disk.onWrite = ({ at }) => {
    if (at > 0) writes += 1;
  };
  const later = (id: string): Promise<Appended> =>
    new Promise((resolve) => setImmediate(() => resolve(append(journal, RECORD_KINDS.begin, id))));
  await Promise.all(['a', 'b', 'c'].map(later));
  assert.equal(writes, 1);
  const first = append(journal, RECORD_KINDS.begin, 'd');
  await new Promise(setImmediate);
  await Promise.all([first, append(journal, RECORD_KINDS.begin, 'e')]);
  assert.equal(writes, 2);
  await close(journal);
});

test('a close writes what waits for the end of the turn', async (context) => {
  const folder = temporaryFolder(context);
  const { journal } = await openJournal(folder);
  await append(journal, RECORD_KINDS.begin, 'a');
  const waiting = append(journal, RECORD_KINDS.end, 'a');
  await Promise.all([waiting, close(journal)]);
  assert.deepEqual(ids((await openJournal(folder)).ends), ['a']);
});

test('files are private, preallocated, and used again', { skip: WINDOWS }, async (context) => {
  const folder = temporaryFolder(context);
  const { journal } = await openJournal(folder);
  for (let index = 0; index < 300; index++) {
    await append(journal, RECORD_KINDS.end, `r${index}`, 'x'.repeat(100));
    journal.releaseBefore(journal.position.segment);
  }
  await close(journal);
  const names = readdirSync(folder);
  assert.ok(names.length <= 4, names.join());
  for (const name of names) {
    const { mode, size } = statSync(join(folder, name));
    assert.deepEqual([mode & 0o777, size], [0o600, name === 'last' ? HEADER_BYTES : SEGMENT_BYTES]);
  }
  const { position } = journal;
  assert.ok(position.segment > 8, 'segments are numbered on');
  const found = await openJournal(folder, { stored: { ...position, oldest: position.segment } });
  assert.deepEqual([found.ends, found.losses], [[], []]);
});

test('the files that a journal has no use for any more are removed', async (context) => {
  const folder = temporaryFolder(context);
  const { journal } = await openJournal(folder);
  for (let index = 0; index < 300; index++) await append(journal, RECORD_KINDS.end, `r${index}`, 'x'.repeat(100));
  assert.ok(readdirSync(folder).length > 8);
  journal.releaseBefore(journal.position.segment);
  await close(journal);
  await until(() => readdirSync(folder).length <= 4);
});

test('a lost segment and damage are reported, and the rest is read', async (context) => {
  const folder = temporaryFolder(context);
  const { journal } = await openJournal(folder);
  const places: Appended[] = [];
  for (let index = 0; index < 120; index++) {
    places.push(await append(journal, RECORD_KINDS.end, `r${index}`, 'x'.repeat(100)));
  }
  await close(journal);
  const { segments } = surveyJournal(folder, SEGMENT_BYTES);
  assert.ok(segments.length >= 4);
  const [, second, third] = segments;
  rmSync(join(folder, second?.name ?? ''));
  const path = join(folder, third?.name ?? '');
  const bytes = readFileSync(path);
  const broken = places.findIndex(({ segment }) => segment === third?.sequence) + 1;
  const from = places[broken - 1]?.end ?? 0;
  bytes[from + 20] = (bytes[from + 20] ?? 0) ^ 0xff;
  writeFileSync(path, bytes);
  const found = await openJournal(folder);
  const expected = places.flatMap(({ segment }, index) =>
    segment === second?.sequence || index === broken ? [] : [`r${index}`],
  );
  assert.deepEqual(ids(found.ends), expected);
  assert.deepEqual(found.losses, [{ segments: [second?.sequence], bytes: (places[broken]?.end ?? 0) - from }]);
});

test('a segment that is lost at the end is noticed by the stored position', async (context) => {
  const folder = temporaryFolder(context);
  const { journal } = await openJournal(folder);
  for (let index = 0; index < 60; index++) await append(journal, RECORD_KINDS.end, `r${index}`, 'x'.repeat(100));
  const stored = { ...journal.position, oldest: 1 };
  await close(journal);
  const last = surveyJournal(folder, SEGMENT_BYTES).segments.at(-1);
  rmSync(join(folder, last?.name ?? ''));
  const found = await openJournal(folder, { stored });
  assert.deepEqual(found.losses, [{ segments: [last?.sequence], bytes: 0 }]);
  await append(found.journal, RECORD_KINDS.end, 'next');
  assert.equal(found.journal.position.segment, stored.segment + 1);
  await close(found.journal);
});

test('a segment that is lost at the end is noticed without a stored position, also if it was the only one', async (context) => {
  for (const count of [60, 1]) {
    const folder = temporaryFolder(context);
    const { journal } = await openJournal(folder);
    const places: Appended[] = [];
    for (let index = 0; index < count; index++) {
      places.push(await append(journal, RECORD_KINDS.end, `r${index}`, 'x'.repeat(100)));
    }
    const { id, position } = journal;
    await close(journal);
    await until(() => readMarker(folder)?.sequence === position.segment);
    rmSync(join(folder, surveyJournal(folder, SEGMENT_BYTES).segments.at(-1)?.name ?? ''));
    const found = await openJournal(folder);
    assert.deepEqual(found.losses, [{ segments: [position.segment], bytes: 0 }]);
    assert.equal(found.ends.length, places.filter(({ segment }) => segment < position.segment).length);
    await append(found.journal, RECORD_KINDS.end, 'next');
    assert.deepEqual([found.journal.id, found.journal.position.segment], [id, position.segment + 1]);
    await close(found.journal);
  }
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

test('a full disk delays records, and nothing is lost', async (context) => {
  const folder = temporaryFolder(context);
  const disk = breakableDisk();
  const { journal, failures } = await openJournal(folder, { disk });
  await append(journal, RECORD_KINDS.begin, 'a');
  disk.fail = 'ENOSPC';
  const end = append(journal, RECORD_KINDS.end, 'a');
  while (failures.length === 0) await new Promise(setImmediate);
  assert.equal(journal.waiting, 1);
  delete disk.fail;
  await end;
  assert.deepEqual(failures, ['ENOSPC', 'recovered']);
  await close(journal);
  assert.deepEqual(ids((await openJournal(folder)).ends), ['a']);
});

test('a journal whose first segment cannot be made waits for it', async (context) => {
  const folder = temporaryFolder(context);
  const disk = breakableDisk();
  disk.fail = 'ENOSPC';
  const { journal, failures } = await openJournal(folder, { disk });
  const begin = append(journal, RECORD_KINDS.begin, 'a');
  while (failures.length === 0) await new Promise(setImmediate);
  delete disk.fail;
  await begin;
  assert.deepEqual(failures.slice(-1), ['recovered']);
  await close(journal);
});

test('a journal fails while its first segment cannot be made, also before a record waits for it', async (context) => {
  const disk = breakableDisk();
  disk.fail = 'ENOSPC';
  const { journal, failures } = await openJournal(temporaryFolder(context), { disk });
  await until(() => failures.length >= 2);
  delete disk.fail;
  await until(() => failures.at(-1) === 'recovered');
  assert.deepEqual([...new Set(failures)], ['ENOSPC', 'recovered']);
  await append(journal, RECORD_KINDS.begin, 'a');
  await close(journal);
});

test('a segment that cannot be made ahead of need is no failure, and is made as soon as it can be', async (context) => {
  const folder = temporaryFolder(context);
  const disk = breakableDisk();
  const { journal, failures } = await openJournal(folder, { disk });
  await append(journal, RECORD_KINDS.begin, 'a');
  let tries = 0;
  let isFull = true;
  disk.onWrite = ({ length }) => {
    const isNewFile = length === SEGMENT_BYTES;
    tries += Number(isNewFile);
    if (isFull && isNewFile) disk.fail = 'ENOSPC';
    else delete disk.fail;
  };
  const half = 'x'.repeat(SEGMENT_BYTES / 2);
  await append(journal, RECORD_KINDS.begin, 'b', half);
  for (let index = 0; index < 20; index++) await append(journal, RECORD_KINDS.begin, 'c');
  assert.ok(tries < 10, 'groups do not cut the delay between two tries short');
  await until(() => tries >= 2);
  isFull = false;
  const failedTries = tries;
  await until(() => tries > failedTries);
  const { segment } = await append(journal, RECORD_KINDS.begin, 'd', half);
  assert.deepEqual([segment, failures], [2, []]);
  await close(journal);
});

test('a segment whose name cannot be made durable leaves no file behind', async (context) => {
  const folder = temporaryFolder(context);
  const disk = breakableDisk();
  const { open } = disk;
  let failedTries = 0;
  disk.open = (path, flags, onOpen) => {
    if (path !== folder || failedTries === 3) return open(path, flags, onOpen);
    failedTries += 1;
    onOpen(new Error('EIO'), -1);
  };
  const { journal } = await openJournal(folder, { disk });
  await append(journal, RECORD_KINDS.begin, 'a');
  assert.equal(failedTries, 3);
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.journal')).length, 1);
  await close(journal);
});

test('a segment that was made and cannot be opened leaves no file behind', async (context) => {
  const folder = temporaryFolder(context);
  const disk = breakableDisk();
  const { open } = disk;
  let failedTries = 0;
  disk.open = (path, flags, onOpen) => {
    if (!path.endsWith('.journal') || flags & constants.O_CREAT || failedTries === 3) return open(path, flags, onOpen);
    failedTries += 1;
    onOpen(Object.assign(new Error('EOPNOTSUPP'), { code: 'EOPNOTSUPP' }), -1);
  };
  const { journal } = await openJournal(folder, { disk });
  await append(journal, RECORD_KINDS.begin, 'a');
  assert.equal(failedTries, 3);
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.journal')).length, 1);
  await close(journal);
});

test('a free segment that cannot be opened is not waited for', async (context) => {
  const folder = temporaryFolder(context);
  const pool = createSegmentPool({
    disk: breakableDisk(),
    clock: systemClock,
    folder,
    segmentBytes: SEGMENT_BYTES,
    sync: true,
    names: ['0099.journal'],
    free: ['0099.journal'],
    onProblem() {},
    onReady() {},
    onDeleted() {},
  });
  const made = await new Promise<string | undefined>((resolve) => {
    const take = () => resolve(pool.take(() => undefined)?.name);
    if (pool.take(take)) assert.fail('there is no file yet');
  });
  assert.notEqual(made, '0099.journal');
  pool.close();
});

test('a file that is released is used at once where none could be made', { timeout: 10_000 }, async (context) => {
  const folder = temporaryFolder(context);
  const disk = breakableDisk();
  disk.fail = 'ENOSPC';
  const problems: string[] = [];
  const pool = createSegmentPool({
    disk,
    // Its time stands: the next try would never come.
    clock: createManualClock(0),
    folder,
    segmentBytes: SEGMENT_BYTES,
    sync: true,
    names: ['0001.journal'],
    free: [],
    onProblem: ({ message }) => problems.push(message),
    onReady() {},
    onDeleted() {},
  });
  const taken = new Promise<string | undefined>((resolve) => {
    if (pool.take(() => resolve(pool.take(() => undefined)?.name))) assert.fail('there is no file yet');
  });
  await until(() => problems.length > 0);
  writeFileSync(join(folder, '0001.journal'), Buffer.alloc(SEGMENT_BYTES));
  pool.release('0001.journal');
  assert.equal(await taken, '0001.journal');
  assert.deepEqual(problems, ['ENOSPC']);
  pool.close();
});

test('a stalled disk is noticed', async (context) => {
  const disk = breakableDisk();
  const { journal } = await openJournal(temporaryFolder(context), { disk });
  await append(journal, RECORD_KINDS.begin, 'a');
  disk.held = true;
  const end = append(journal, RECORD_KINDS.end, 'a');
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([journal.isStalled(1), journal.isStalled(60_000)], [true, false]);
  disk.letThrough();
  await end;
  assert.equal(journal.isStalled(0), false);
  await close(journal);
});

test('two processes never write one journal', (context) => {
  const root = temporaryFolder(context);
  const [first, second] = [takeJournalFolder(root), takeJournalFolder(root)];
  assert.notEqual(first.path, second.path);
  assert.equal(tryLockFolder(first.path), undefined);
  assert.deepEqual([...takeAbandonedFolders(root)], []);
  first.release();
  const abandoned = [...takeAbandonedFolders(root)];
  assert.deepEqual(
    abandoned.map(({ path }) => path),
    [first.path],
  );
  abandoned[0]?.release();
  second.release();
});

test('the disk of Node writes at an offset and flushes', async (context) => {
  const folder = temporaryFolder(context);
  writeFileSync(join(folder, 'file'), 'abcdef');
  const written = await new Promise((resolve) =>
    nodeDisk.open(join(folder, 'file'), 2, (_error, fd) =>
      nodeDisk.write(fd, Buffer.from('-XY-'), { from: 1, length: 2, at: 3 }, () =>
        nodeDisk.sync(fd, () => nodeDisk.close(fd, () => resolve(readFileSync(join(folder, 'file'), 'latin1')))),
      ),
    ),
  );
  assert.equal(written, 'abcXYf');
});
