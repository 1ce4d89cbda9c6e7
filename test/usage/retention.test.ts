/** Retention of usage records by age and size. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import type { Store } from '../../src/store/store.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { reportUsage } from '../../src/usage/report.ts';
import { createRecordTrimmer, pruneRecords, RECORD_BYTES } from '../../src/usage/retention.ts';
import { forEachStore } from '../store/stores.ts';
import { completion, intent, NOON } from './records.ts';

const DAY = 24 * 3600 * 1000;
const now = (): number => NOON;

/** Some records on each of the last days; their ids name the day. */
async function fill(store: Store, days: number, each: number): Promise<void> {
  const log = pino({ level: 'silent' });
  const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log });
  for (let day = 0; day < days; day++) {
    for (let count = 0; count < each; count++) {
      const request = intent(`${day}-${count}`, { startedAt: NOON - day * DAY });
      await recorder.finish(request, completion());
    }
  }
  await recorder.close(10_000);
}

async function daysKept(store: Store, days: number): Promise<number[]> {
  const kept: number[] = [];
  for (let day = 0; day < days; day++) {
    if (await store.call('usageRecord', { id: `${day}-0`, keyId: 'key-1' })) kept.push(day);
  }
  return kept;
}

forEachStore((name, open) => {
  test(`old records go and sums stay (${name})`, async (context) => {
    const store = await open(context);
    await fill(store, 6, 3);
    assert.equal(await pruneRecords({ store, now }, { keep: 2 * DAY, maxSize: 1e9 }), 9);
    assert.deepEqual(await daysKept(store, 6), [0, 1, 2]);
    const span = { from: NOON - 10 * DAY - (NOON % 3_600_000), to: NOON + DAY, by: ['day' as const] };
    const { data, total } = await reportUsage(store, span, { hasPrice: () => true });
    assert.equal(data.length, 6);
    assert.equal(total.requests, 18);
  });

  test(`the oldest days go where they are too many, and today's last (${name})`, async (context) => {
    const store = await open(context);
    await fill(store, 4, 10);
    await pruneRecords({ store, now }, { keep: 30 * DAY, maxSize: 25 * RECORD_BYTES });
    assert.deepEqual(await daysKept(store, 4), [0, 1]);
    await pruneRecords({ store, now }, { keep: 30 * DAY, maxSize: 1 });
    assert.deepEqual(await daysKept(store, 4), [0]);
  });

  test(`within a day the oldest records go, too (${name})`, async (context) => {
    const store = await open(context);
    const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log: pino({ level: 'silent' }) });
    const size = 300 * RECORD_BYTES;
    const trimmer = createRecordTrimmer({ store, now });
    const record = async (from: number, to: number) => {
      for (let index = from; index < to; index++) {
        await recorder.finish(intent(`r${index}`, { startedAt: NOON - 10_000 + index }), completion());
      }
      await recorder.flushed();
    };
    await record(0, 300);
    assert.equal(await trimmer.trim(size), 0);
    await record(300, 1000);
    assert.equal(await trimmer.trim(size), 700);
    assert.equal(await trimmer.trim(size), 0);
    const kept = async (id: string) => (await store.call('usageRecord', { id, keyId: 'key-1' })) !== undefined;
    assert.deepEqual([await kept('r699'), await kept('r700'), await kept('r999')], [false, true, true]);
    await record(1000, 1100);
    assert.equal(await pruneRecords({ store, now }, { keep: 30 * DAY, maxSize: size }), 100);
    assert.deepEqual([await kept('r799'), await kept('r800')], [false, true]);
    assert.equal((await store.call('usageByDay', {}))[0]?.records, 1100);
  });
});
