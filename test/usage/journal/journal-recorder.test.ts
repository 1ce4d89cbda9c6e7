/** Recorder on a journal: acknowledged records survive a death at any moment, and are in the store once. */

import assert from 'node:assert/strict';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import type { Clock } from '../../../src/core/clock.ts';
import type { Store } from '../../../src/store/store.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';
import type { JournalDisk } from '../../../src/usage/journal/disk.ts';
import { takeAbandonedFolders } from '../../../src/usage/journal/folder.ts';
import { openJournalRecorder } from '../../../src/usage/journal-recorder.ts';
import type { Recorder } from '../../../src/usage/recorder.ts';
import { createManualClock } from '../../jobs/manual-clock.ts';
import { until } from '../../jobs/rig.ts';
import { forEachStore } from '../../store/stores.ts';
import { completion, intent, NOON } from '../records.ts';
import { breakableDisk } from './disks.ts';
import { temporaryFolder } from './journals.ts';

/** Of some ten records. */
const SMALL_SEGMENT_BYTES = 4096;
const HOUR = Math.floor(NOON / 3_600_000);

interface Opened {
  recorder: Recorder;
  lines: { level: number; msg: string; [field: string]: unknown }[];
}

async function openOn(
  store: Pick<Store, 'call' | 'engine' | 'now'>,
  root: string,
  more: { durability?: 'strict' | 'batched'; disk?: JournalDisk; segmentBytes?: number; clock?: Clock } = {},
): Promise<Opened> {
  const lines: Opened['lines'] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const recorder = await openJournalRecorder({
    ...{ durability: 'strict', segmentBytes: 16_384, capacity: 1000 },
    ...more,
    ...{ store, root, log },
  });
  return { recorder, lines };
}

/** A journal of a process that dies: nothing of it is closed, its lock is gone, and its later writes go nowhere. */
function mortal() {
  const disk = breakableDisk();
  return {
    disk,
    die(root: string, number = 1) {
      disk.cut = 0;
      // Another connection could not take the lock in this process; the lock of a dead process is released.
      rmSync(join(root, String(number), 'lock.db'));
    },
  };
}

/** The store as a process sees it that may die: no answer reaches it afterwards. */
function storeOfMortal(store: Store) {
  const state = { isDead: false };
  const never = () => new Promise(() => undefined);
  const call = (async (name: 'storeJournalBatch', parameters: never) => {
    if (state.isDead) return never();
    const result = await store.call(name, parameters);
    return state.isDead ? never() : result;
  }) as Store['call'];
  return { state, store: { ...store, call } };
}

async function figures(store: Store) {
  const [sum] = await store.call('usageSums', { from: HOUR - 1, to: HOUR + 24, by: [] });
  const [spent] = await store.call('spentBy', { subject: 'key-1', starts: [{ period: 'total', startsAt: 0 }] });
  return [Number(sum?.requests ?? 0), String(sum?.cost ?? 0), String(spent?.spent ?? 0)];
}

const statusOf = async (store: Store, id: string) => (await store.call('usageRecord', { id, keyId: 'key-1' }))?.status;

/** A store that fails while `broken`, before or after it has done what it was asked, or never answers. */
function breakable(store: Store) {
  const state: { broken?: 'before' | 'after' | 'silent'; calls: number } = { calls: 0 };
  const call = (async (name: 'storeJournalBatch', parameters: never) => {
    if (name === 'storeJournalBatch') state.calls += 1;
    if (name === 'storeJournalBatch' && state.broken === 'before') throw new StoreUnavailable('gone');
    if (name === 'storeJournalBatch' && state.broken === 'silent') return new Promise(() => undefined);
    const result = await store.call(name, parameters);
    if (name === 'storeJournalBatch' && state.broken === 'after') throw new StoreUnavailable('answer lost');
    return result;
  }) as Store['call'];
  return { state, store: { ...store, call } };
}

async function serve(recorder: Recorder, id: string, cost = 5n): Promise<void> {
  await recorder.begin(intent(id));
  await recorder.finish(intent(id), completion({ cost }));
}

forEachStore((name, open) => {
  const stage = async (context: TestContext) => ({ store: await open(context), root: temporaryFolder(context) });

  test(`a record is in the store once it is asked for, and in its sums (${name})`, async (context) => {
    const { store, root } = await stage(context);
    const { recorder } = await openOn(store, root);
    await serve(recorder, 'a');
    assert.equal(recorder.waiting, 0);
    await recorder.flushed();
    const record = await store.call('usageRecord', { id: 'chatcmpl-1', keyId: 'key-1' });
    assert.deepEqual(
      [record?.id, record?.status, record?.input_tokens, record?.cached_tokens, record?.cost, record?.first_byte_ms],
      ['a', 'completed', 120, 20, '5', 40],
    );
    assert.deepEqual(await figures(store), [1, '5', '5']);
    await recorder.close(1000);
  });

  test(`the store decodes a few records of a batch at once (${name})`, async (context) => {
    const { store, root } = await stage(context);
    // On PostgreSQL, each text is a round trip.
    const size = name === 'sqlite' ? 64 : 2000;
    let stored = 0;
    const call = (async (name: 'storeJournalBatch', parameters: { records: string[] }) => {
      if (name === 'storeJournalBatch') {
        const counts = parameters.records.map((text) => JSON.parse(`[${text}]`).length);
        const sum = counts.reduce((before, count) => before + count, 0);
        assert.deepEqual([Math.max(...counts) <= size, counts.length], [true, Math.ceil(sum / size)]);
        stored += sum;
      }
      return store.call(name, parameters as never);
    }) as Store['call'];
    const { recorder } = await openOn({ ...store, call }, root);
    await Promise.all(Array.from({ length: 200 }, (_, index) => serve(recorder, `many-${index}`)));
    await recorder.flushed();
    assert.equal(stored, 200);
    assert.equal((await figures(store))[0], 200);
    await recorder.close(1000);
  });

  test(`names that no text can hold, and numbers that none are (${name})`, async (context) => {
    const { store, root } = await stage(context);
    const { recorder, lines } = await openOn(store, root);
    const odd = intent('odd', { model: `\0"é\\${'x'.repeat(1000)}` });
    await recorder.begin(odd);
    await recorder.finish(odd, completion({ finish: 's\0t"op\u2028', upstreamId: 'ü\n' }));
    for (const id of ['b', 'c', 'd']) {
      await recorder.finish(intent(id), completion({ total: id === 'c' ? Number.NaN : 90, cost: 1n }));
    }
    await recorder.flushed();
    const record = await store.call('usageRecord', { id: 'odd', keyId: 'key-1' });
    assert.deepEqual([record?.finish, record?.upstream_id], ['st"op\u2028', 'ü\n']);
    assert.deepEqual([recorder.refused, recorder.lost, recorder.ready], [1, 0, true]);
    assert.equal((await figures(store))[0], 3);
    assert.deepEqual(
      (await store.call('refusedUsage', { limit: 10 })).map(({ id }) => id),
      ['c'],
    );
    await recorder.close(1000);
    const again = await openOn(store, root);
    assert.equal(again.recorder.refused, 0, 'it is not found again');
    assert.equal(lines.filter(({ msg }) => msg === 'the store refused a usage record').length, 1);
    await again.recorder.close(1000);
  });

  for (const moment of ['before the store', 'after the store', 'amid a batch'] as const) {
    test(`a process dies ${moment}: nothing is lost, nothing counts twice (${name})`, async (context) => {
      const { store, root } = await stage(context);
      const { die, disk } = mortal();
      const broken = breakable(store);
      const { recorder } = await openOn(broken.store, root, { disk });
      for (let index = 0; index < 100; index++) await serve(recorder, `r${index}`);
      if (moment !== 'before the store') await recorder.flushed();
      if (moment === 'amid a batch') {
        for (let index = 100; index < 150; index++) await serve(recorder, `r${index}`);
        broken.state.broken = 'after';
        await recorder.flushed();
      } else for (let index = 100; index < 150; index++) await serve(recorder, `r${index}`);
      broken.state.broken = 'before';
      for (const id of ['open', 'sent', 'late']) await recorder.begin(intent(id));
      recorder.withdraw(intent('sent'));
      await new Promise((resolve) => setTimeout(resolve, 20));
      die(root);
      const again = await openOn({ ...store, now: () => NOON + 4000 }, root);
      assert.deepEqual(await figures(store), [152, '950', '950']);
      assert.equal(await statusOf(store, 'open'), 'interrupted');
      assert.equal(await statusOf(store, 'sent'), undefined);
      const record = await store.call('usageRecord', { id: 'late', keyId: 'key-1' });
      assert.deepEqual([record?.estimated, record?.input_tokens, record?.total_ms], [1, 100, 4000]);
      assert.match(again.lines.map(({ msg }) => msg).join(), /requests were interrupted by the end of a gateway/);
      await serve(again.recorder, 'next');
      await again.recorder.close(1000);
      const third = await openOn(store, root);
      assert.deepEqual(await figures(store), [153, '955', '955']);
      await third.recorder.close(1000);
    });
  }

  test(`a process dies in the middle of its recovery (${name})`, async (context) => {
    const { store, root } = await stage(context);
    const first = mortal();
    const { recorder } = await openOn(breakable(store).store, root, { disk: first.disk });
    for (let index = 0; index < 20; index++) await recorder.begin(intent(`r${index}`));
    first.die(root);
    // The ends of interrupted requests are written as far as the cut, but not stored.
    for (const cut of [0, 100, 1500, 3000]) {
      const next = mortal();
      next.disk.cut = cut;
      const seen = storeOfMortal(store);
      void openOn(seen.store, root, { disk: next.disk });
      // However far it comes meanwhile, on a busy machine not even to the first answer of the store.
      await new Promise((resolve) => setTimeout(resolve, 60));
      seen.state.isDead = true;
      next.die(root);
    }
    const last = await openOn(store, root);
    // A store that is still busy with a batch of the dead counts as unavailable, and gets the records later.
    await until(async () => (await figures(store))[0] !== 0);
    assert.deepEqual(await figures(store), [20, '2000', '2000']);
    await last.recorder.close(1000);
  });

  test(`while the store is unavailable nobody waits for it, and nothing is lost (${name})`, async (context) => {
    const { store, root } = await stage(context);
    const broken = breakable(store);
    const clock = createManualClock(NOON);
    const { recorder, lines } = await openOn(broken.store, root, { clock });
    await recorder.begin(intent('early'));
    broken.state.broken = 'after';
    await serve(recorder, 'a', 7n);
    await recorder.flushed();
    assert.equal(recorder.ready, false);
    await recorder.finish(intent('early'), completion({ cost: 3n }));
    assert.equal(lines.filter(({ msg }) => msg === 'usage records cannot be written; retrying').length, 1);
    delete broken.state.broken;
    clock.advance(5_000);
    await recorder.close(10_000);
    assert.ok(recorder.ready);
    assert.deepEqual(await figures(store), [2, '10', '10']);
  });

  test(`gateways whose folders are copies of one write all of their records (${name})`, async (context) => {
    const { store, root } = await stage(context);
    const { recorder } = await openOn(store, root);
    await serve(recorder, 'first');
    await recorder.close(1000);
    const copy = temporaryFolder(context);
    cpSync(root, copy, { recursive: true });
    const [one, other] = [await openOn(store, root), await openOn(store, copy)];
    for (let index = 0; index < 20; index++) await serve(one.recorder, `one${index}`);
    await one.recorder.flushed();
    for (let index = 0; index < 20; index++) {
      await serve(other.recorder, `other${index}`);
      if (index % 7 === 0) await other.recorder.flushed();
    }
    await Promise.all([one, other].map(({ recorder }) => recorder.close(1000)));
    assert.deepEqual(await figures(store), [41, '205', '205']);
    assert.deepEqual(
      [...one.lines, ...other.lines].filter(({ level }) => level === 50),
      [],
    );
  });
});

forEachStore((name, open) => {
  if (name !== 'sqlite') return;
  test('a full disk: callers are released, no request begins, and nothing is lost', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const disk = breakableDisk();
    const clock = createManualClock(NOON);
    const { recorder, lines } = await openOn(store, root, { disk, clock });
    await recorder.begin(intent('a'));
    disk.fail = 'ENOSPC';
    await recorder.finish(intent('a'), completion());
    assert.deepEqual([recorder.ready, recorder.waiting], [false, 1]);
    assert.match(lines.map(({ msg }) => msg).join(), /the journal of usage records cannot be written/);
    await recorder.begin(intent('b'));
    delete disk.fail;
    await recorder.finish(intent('b'), completion());
    while (!recorder.ready) {
      clock.advance(100);
      await turn();
    }
    await recorder.close(1000);
    assert.equal((await figures(store))[0], 2);
  });

  test('a disk that is full until the end: the records that are not on it are told', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const disk = breakableDisk();
    const { recorder, lines } = await openOn(store, root, { disk });
    await recorder.begin(intent('a'));
    disk.fail = 'ENOSPC';
    await recorder.finish(intent('a'), completion());
    await recorder.begin(intent('b'));
    await recorder.close(100);
    const last = lines.at(-1);
    assert.deepEqual([last?.level, last?.records], [50, 1], JSON.stringify(lines));
    assert.match(last?.msg ?? '', /ends before/);
  });

  test('a disk that is full while nothing is written: no request begins until it is not', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const disk = breakableDisk();
    const clock = createManualClock(NOON);
    disk.fail = 'ENOSPC';
    const { recorder, lines } = await openOn(store, root, { disk, clock });
    while (recorder.ready) await turn();
    delete disk.fail;
    while (!recorder.ready) {
      clock.advance(100);
      await turn();
    }
    assert.deepEqual(
      lines.map(({ msg }) => msg),
      ['the journal of usage records cannot be written; retrying', 'the journal of usage records is written again'],
    );
    await recorder.close(1000);
  });

  test('a disk that stalls: no request begins until it is over', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const disk = breakableDisk();
    const clock = createManualClock(NOON);
    const { recorder } = await openOn(store, root, { disk, clock });
    await recorder.begin(intent('a'));
    disk.held = true;
    let isWriting = false;
    disk.onWrite = () => {
      isWriting = true;
    };
    let isDurable = false;
    const finished = recorder.finish(intent('a'), completion()).then(() => {
      isDurable = true;
    });
    assert.equal(recorder.ready, true);
    while (!isWriting) await turn();
    clock.advance(2000);
    assert.equal(recorder.ready, true);
    clock.advance(1);
    await turn();
    assert.deepEqual([recorder.ready, isDurable], [false, false]);
    disk.letThrough();
    await finished;
    assert.equal(recorder.ready, true);
    await recorder.close(1000);
  });

  for (const what of ['the folder', 'the folder of all journals']) {
    test(`a journal goes on after ${what} was deleted, and a later death loses nothing`, async (context) => {
      const [store, root] = [await open(context), join(temporaryFolder(context), 'journal')];
      const { die, disk } = mortal();
      const broken = breakable(store);
      const clock = createManualClock(NOON);
      const { recorder, lines } = await openOn(broken.store, root, { disk, clock });
      for (const id of ['before', 'open']) await recorder.begin(intent(id));
      await recorder.finish(intent('before'), completion());
      rmSync(what === 'the folder' ? join(root, '1') : root, { recursive: true });
      clock.advance(1000);
      await recorder.begin(intent('after'));
      assert.equal(recorder.ready, true);
      await recorder.flushed();
      broken.state.broken = 'before';
      await recorder.finish(intent('after'), completion());
      assert.match(lines.map(({ msg }) => msg).join(), /files of the journal were deleted; it goes on in new ones/);
      assert.deepEqual(
        [...takeAbandonedFolders(root)].map(({ path }) => path),
        [],
        'nobody else may take it',
      );
      die(root);
      const again = await openOn(store, root);
      assert.equal((await figures(store))[0], 3);
      for (const [id, status] of [
        ['before', 'completed'],
        ['open', 'interrupted'],
        ['after', 'completed'],
      ] as const)
        assert.equal(await statusOf(store, id), status, id);
      await again.recorder.close(1000);
    });
  }

  test('a journal whose folder another process has made anew writes nothing into it', async (context) => {
    const [store, root] = [await open(context), join(temporaryFolder(context), 'journal')];
    const clock = createManualClock(NOON);
    const { recorder, lines } = await openOn(store, root, { clock });
    await recorder.begin(intent('before'));
    rmSync(root, { recursive: true });
    const other = mortal();
    const broken = breakable(store);
    const second = await openOn(broken.store, root, { disk: other.disk });
    await second.recorder.begin(intent('of the other'));
    broken.state.broken = 'before';
    await second.recorder.finish(intent('of the other'), completion());
    const files = readdirSync(join(root, '1')).sort();
    for (const attempt of [1, 2]) {
      clock.advance(1000);
      await recorder.begin(intent(`after ${attempt}`));
      assert.equal(recorder.ready, false);
    }
    assert.deepEqual(readdirSync(join(root, '1')).sort(), files);
    const problems = lines.map(({ problem }) => problem).join();
    assert.match(problems, /was deleted, and another process has it now/);
    other.die(root);
    const third = await openOn(store, root);
    assert.equal(await statusOf(store, 'of the other'), 'completed');
    assert.deepEqual(third.lines, []);
    await Promise.all([recorder, third.recorder].map((one) => one.close(0)));
  });

  test('a lost segment is said loudly, and the rest is kept', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const { die, disk } = mortal();
    const broken = breakable(store);
    const { recorder } = await openOn(broken.store, root, { disk });
    // One that fails would release callers whose records are not yet in the journal.
    broken.state.broken = 'silent';
    for (let index = 0; index < 200; index++) await serve(recorder, `r${index}`);
    die(root);
    rmSync(join(root, '1', '0002.journal'));
    const again = await openOn(store, root);
    const [loss] = again.lines.filter(({ level }) => level === 50);
    assert.match(String(loss?.msg), /a part of the journal is missing or damaged/);
    assert.deepEqual(loss?.segments, [2]);
    const [requests] = await figures(store);
    assert.ok(Number(requests) > 100 && Number(requests) < 200, String(requests));
    assert.equal(await statusOf(store, 'r199'), 'completed');
    await again.recorder.close(1000);
  });

  test('a request that is open for long does not keep old segments, and is not forgotten', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const { die, disk } = mortal();
    const { recorder } = await openOn(store, root, { disk });
    await recorder.begin(intent('long'));
    await recorder.begin(intent('longer'));
    for (let index = 0; index < 400; index++) {
      await serve(recorder, `r${index}`);
      if (index % 10 === 0) await recorder.flushed();
    }
    await recorder.finish(intent('long'), completion());
    await recorder.flushed();
    const { surveyJournal } = await import('../../../src/usage/journal/survey.ts');
    const { segments } = surveyJournal(join(root, '1'), 16_384);
    assert.ok(segments.length <= 10, String(segments.length));
    assert.ok((segments[0]?.sequence ?? 0) > 1);
    die(root);
    const again = await openOn(store, root);
    assert.equal(await statusOf(store, 'longer'), 'interrupted');
    assert.equal((await figures(store))[0], 402);
    await again.recorder.close(1000);
  });

  test('the begin of an open request stays in the journal, whatever begins while it is written again', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const disk = breakableDisk();
    const { recorder } = await openOn(store, root, { disk, segmentBytes: SMALL_SEGMENT_BYTES });
    const { replayJournal, surveyJournal } = await import('../../../src/usage/journal/survey.ts');
    await recorder.begin(intent('long'));
    let begun: Promise<string> | undefined;
    let mayBegin = false;
    // While the begin is being written again, so that this one comes into the next group, and at times into the next segment.
    disk.onWrite = () => {
      if (mayBegin) begun = beginAnother();
      mayBegin = false;
    };
    let others = 0;
    async function beginAnother(): Promise<string> {
      const id = `other${others++}`;
      await recorder.begin(intent(id));
      return id;
    }
    for (let index = 0; index < 600; index++) {
      await serve(recorder, `r${index}`);
      // At any place in a segment.
      if ((index * 7919) % 101 > 12) continue;
      const before = begun;
      begun = undefined;
      mayBegin = true;
      await recorder.flushed();
      const survey = surveyJournal(join(root, '1'), SMALL_SEGMENT_BYTES);
      const position = await store.call('journalPosition', { journal: survey.id });
      const { open } = await replayJournal(survey, position, { onEnd: () => undefined, onLoss: () => undefined });
      assert.ok(open.has('long'), `after ${index} requests`);
      if (before) await recorder.finish(intent(await before), completion());
    }
    await recorder.close(0);
  });

  test('the journal of a process that never comes back is recovered by another', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const { recoverAbandonedJournals } = await import('../../../src/usage/journal-recorder.ts');
    const { die, disk } = mortal();
    const alive = await openOn(store, root);
    const gone = await openOn(store, root, { disk });
    await gone.recorder.begin(intent('left'));
    await alive.recorder.begin(intent('running'));
    const options = {
      store,
      root,
      durability: 'strict' as const,
      log: pino({ level: 'silent' }),
      segmentBytes: 16_384,
    };
    await recoverAbandonedJournals(options);
    assert.equal(await statusOf(store, 'left'), undefined, 'as long as it lives, it keeps its requests');
    die(root, 2);
    await recoverAbandonedJournals(options);
    assert.deepEqual([await statusOf(store, 'left'), await statusOf(store, 'running')], ['interrupted', undefined]);
    await recoverAbandonedJournals(options);
    await alive.recorder.finish(intent('running'), completion({ cost: 1n }));
    await alive.recorder.close(1000);
    assert.deepEqual(await figures(store), [2, '101', '101']);
  });

  test('journals that could not be recovered while the store was away are recovered later', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const { recoverAbandonedJournals } = await import('../../../src/usage/journal-recorder.ts');
    const alive = await openOn(store, root);
    const [one, two] = [mortal(), mortal()];
    for (const [id, { disk }] of Object.entries({ one, two })) {
      const gone = await openOn(store, root, { disk });
      await gone.recorder.begin(intent(id));
    }
    one.die(root, 2);
    two.die(root, 3);
    let isAway = true;
    const call = (async (name: 'journalPosition', parameters: never) => {
      if (isAway) throw new StoreUnavailable('gone');
      return store.call(name, parameters);
    }) as Store['call'];
    const options = { root, durability: 'strict' as const, log: pino({ level: 'silent' }), segmentBytes: 16_384 };
    await assert.rejects(recoverAbandonedJournals({ ...options, store: { ...store, call } }), StoreUnavailable);
    isAway = false;
    await recoverAbandonedJournals({ ...options, store: { ...store, call } });
    assert.deepEqual([await statusOf(store, 'one'), await statusOf(store, 'two')], ['interrupted', 'interrupted']);
    await alive.recorder.close(1000);
  });

  test('batched: nobody waits, nothing is noted before, and a close writes all', async (context) => {
    const [store, root] = [await open(context), temporaryFolder(context)];
    const disk = breakableDisk();
    const { recorder } = await openOn(store, root, { durability: 'batched', disk });
    disk.held = true;
    for (let index = 0; index < 50; index++) await serve(recorder, `r${index}`);
    assert.equal(recorder.waiting, 50);
    disk.letThrough();
    await recorder.close(10_000);
    assert.deepEqual(await figures(store), [50, '250', '250']);
  });
});
