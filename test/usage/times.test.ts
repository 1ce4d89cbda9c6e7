/** Percentiles from counts by time: within their error, of all requests of several gateways, and of what is counted alone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pino } from 'pino';
import { newRequestId } from '../../src/core/request-id.ts';
import { createRequestReader } from '../../src/http/requests/reader.ts';
import type { UsageFilter } from '../../src/store/sum-source.ts';
import {
  ARRAY_COUNTS,
  addPacked,
  countTimes,
  FIRST_BOUND_MS,
  noCounts,
  PACKED_COUNTS,
  packCounts,
  TIME_BUCKETS,
  timeBucket,
} from '../../src/store/time-counts.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { percentilesOfCounts, percentilesOfTimes } from '../../src/usage/time-percentiles.ts';
import { forEachStore } from '../store/stores.ts';
import { RAW_SQL, rawSql } from './raw-sql.ts';
import { completion, intent, NOON } from './records.ts';

const HOUR_MS = 3_600_000;
const log = pino({ level: 'silent' });
const ROUTES = { models: new Map(), aliases: new Map(), bareNames: [], fallbackModels: [] };
const NO_MODELS = { providers: new Map(), routes: ROUTES };

test('bounds of buckets double', () => {
  const bucketsOf = (...times: number[]) => times.map(timeBucket);
  assert.deepEqual(bucketsOf(0, 24, 25, 49, 50, 99, 100), [0, 0, 1, 1, 2, 2, 3]);
  assert.deepEqual(bucketsOf(204_799, 204_800, 409_599, 409_600, 1e12), [13, 14, 14, 15, 15]);
});

test('counts are read as they were written, and added', () => {
  const counts = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })), {
    ...{ minLength: 2 * TIME_BUCKETS, maxLength: 2 * TIME_BUCKETS },
  });
  fc.assert(
    fc.property(counts, counts, (one, other) => {
      for (const { encode, decode } of [PACKED_COUNTS, ARRAY_COUNTS]) assert.deepEqual(decode(encode(one)), one);
      const sum = one.map((count, index) => count + (other[index] ?? 0));
      assert.deepEqual(addPacked(addPacked(noCounts(), packCounts(one)), packCounts(other)), sum);
    }),
  );
});

test('an estimated percentile is between half of the exact one and twice it', () => {
  const times = fc.array(fc.integer({ min: 0, max: 409_599 }), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(times, (all) => {
      const counts = noCounts();
      for (const ms of all) countTimes(counts, { protocol_in: 'chat', first_byte_ms: ms, total_ms: ms }, 1);
      const { firstByte, total, requests } = percentilesOfCounts(counts);
      assert.deepEqual([firstByte, requests], [total, all.length]);
      const exact = percentilesOfTimes(all);
      for (const name of ['p50', 'p95'] as const) assertNear(total[name], exact[name]);
    }),
  );
  assert.deepEqual(percentilesOfCounts(noCounts()).total, { p50: null, p95: null });
});

/** Times below the first bound are estimated as anything below it. */
function assertNear(estimate: number | null, exact: number | null): void {
  assert.ok(estimate !== null && exact !== null);
  const least = exact < FIRST_BOUND_MS ? 0 : exact / 2;
  assert.ok(estimate >= least && estimate <= Math.max(FIRST_BOUND_MS, 2 * exact), `${estimate} for ${exact}`);
}

forEachStore((name, open) => {
  test(`gateways that record at once count each request in one bucket of each kind (${name})`, async (context) => {
    const store = await open(context);
    const others = await Promise.all([0, 1].map(() => (name === 'postgres' ? store.beside() : store)));
    const gateways = [store, ...others].map((own, index) =>
      createRecorder({ store: own, instance: `g${index}`, durability: index === 0 ? 'batched' : 'strict', log }),
    );
    const totals: number[] = [];
    const expected = noCounts();
    for (let round = 0; round < 5; round++) {
      const ended = gateways.flatMap((gateway, index) =>
        Array.from({ length: 40 }, async (_, number) => {
          const [firstByte, total] = [7 * number * (index + 1), 101 * number * (round + 1)];
          totals.push(total);
          countTimes(expected, { protocol_in: 'chat', first_byte_ms: firstByte, total_ms: total }, 1);
          const begun = intent(newRequestId(NOON), { tags: number % 2 === 0 ? 'team=a' : '' });
          await gateway.begin(begun);
          await gateway.finish(begun, completion({ firstByte, total }));
        }),
      );
      await Promise.all(ended);
      await Promise.all(gateways.map((gateway) => gateway.flushed()));
    }
    const timesOf = (filter: UsageFilter) =>
      store.call('usageTimes', { from: NOON / HOUR_MS, to: NOON / HOUR_MS + 1, filter });
    const all = percentilesOfCounts(await timesOf({}));
    assert.deepEqual(await timesOf({}), expected);
    assert.equal(all.requests, totals.length);
    const exact = percentilesOfTimes(totals);
    for (const share of ['p50', 'p95'] as const) assertNear(all.total[share], exact[share]);
    const sums = await Promise.all(
      [{ tag: 'team=a' }, { keyId: 'key-1', status: 'completed' }, { model: 'openai/other' }].map(timesOf),
    );
    assert.deepEqual(
      sums.map((counts) => percentilesOfCounts(counts).requests),
      [totals.length / 2, totals.length, 0],
    );
    await Promise.all(gateways.map((gateway) => gateway.close(10_000)));
  });

  test(`a summary says how many requests its times are of where an earlier version wrote some (${name})`, async (context) => {
    const store = await open(context, RAW_SQL);
    const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log });
    const record = async (count: number, more: object) => {
      for (let index = 0; index < count; index++)
        await recorder.finish(intent(newRequestId(NOON), more), completion({ total: 70 }));
      await recorder.flushed();
    };
    const clock = { now: () => NOON + HOUR_MS / 2, monotonic: () => 0 };
    const reader = createRequestReader({ store, models: () => NO_MODELS, recorder: undefined, clock });
    const summary = async () =>
      (await reader.summary(new URLSearchParams(), { names: new Map(), keyId: undefined })).data;
    await record(200, { keyId: 'old' });
    await rawSql(store, 'UPDATE usage_part SET times = NULL');
    await record(4900, {});
    const fewer = await summary();
    assert.deepEqual([fewer.requests, fewer.timed, fewer.times_estimated], [5100, 5000, false]);
    await record(200, {});
    const more = await summary();
    assert.deepEqual([more.requests, more.timed, more.times_estimated], [5300, 5100, true]);
    await recorder.close(10_000);
  });
});
