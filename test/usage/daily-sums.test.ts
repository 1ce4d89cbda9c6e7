/** Reports from daily and hourly sums: those of the records, whichever days are summed up and whatever changes them later. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { startDailySums } from '../../src/gateway/daily-sums.ts';
import type { Row } from '../../src/store/operation.ts';
import type { UsageSumsQuery } from '../../src/store/operations/usage-sums.ts';
import type { Store } from '../../src/store/store.ts';
import type { UsageFilter } from '../../src/store/sum-source.ts';
import { countTimes, noCounts } from '../../src/store/time-counts.ts';
import type { UsageRow } from '../../src/store/usage-row.ts';
import { createDailySums } from '../../src/usage/daily-sums.ts';
import { readUseQuery, USE_DIMENSIONS } from '../../src/usage/use-query.ts';
import { reportUse } from '../../src/usage/use-report.ts';
import { zoneOffsets } from '../../src/usage/zone.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { forEachStore } from '../store/stores.ts';
import { RAW_SQL, rawSql } from './raw-sql.ts';

const HOUR_MS = 3_600_000;
const NO_CONTEXT = { names: new Map(), hasPrice: () => false };
/** A week in which summer time ends in Europe. */
const FIRST = Date.UTC(2025, 9, 22) / HOUR_MS;
const HOURS = 7 * 24;
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns', 'Pacific/Kiritimati'];
const KEYS = ['key-1', 'key-2'];
const MODELS = ['a/m1', 'a/m2', 'b/m1'];
const TAGS = ['', 'team=search', 'env=prod team=search', 'team=ads'];
const STATUSES = ['completed', 'failed', 'interrupted', 'partial'] as const;
const GROUPINGS = ['day', 'hour', 'model', 'provider', 'key', 'protocol', 'status', 'tags'] as const;

const records = fc.array(
  fc.record({
    hour: fc.integer({ min: 0, max: HOURS - 1 }),
    key: fc.constantFrom(...KEYS),
    model: fc.constantFrom(...MODELS),
    tags: fc.constantFrom(...TAGS),
    status: fc.constantFrom(...STATUSES),
    protocol: fc.constantFrom('chat', 'messages', 'videos'),
    tokens: fc.integer({ min: 0, max: 1000 }),
    isEstimated: fc.boolean(),
    cost: fc.bigInt({ min: 0n, max: 10n ** 15n }),
    firstByte: fc.option(fc.integer({ min: 0, max: 1_000_000 })),
    ms: fc.integer({ min: 0, max: 1_000_000 }),
  }),
  { minLength: 5, maxLength: 25, size: 'max' },
);
type Generated<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;
type Described = Generated<typeof records>[number];

const questions = fc.array(
  fc.record({
    from: fc.integer({ min: -30, max: HOURS }),
    length: fc.integer({ min: 1, max: HOURS + 60 }),
    zone: fc.constantFrom(...ZONES),
    by: fc.uniqueArray(fc.constantFrom(...GROUPINGS), { maxLength: 3 }),
    filter: fc.record(
      {
        keyId: fc.constantFrom(...KEYS),
        model: fc.constantFrom(...MODELS),
        provider: fc.constantFrom('a', 'b'),
        protocol: fc.constantFrom('chat', 'messages'),
        status: fc.constantFrom(...STATUSES),
        tag: fc.constantFrom('team=search', 'env=prod'),
      },
      { requiredKeys: [] },
    ),
  }),
  { minLength: 4, maxLength: 8, size: 'max' },
);
type Question = Generated<typeof questions>[number];

/** A day is summed up, or a day's sums begin and stay unfinished, or records change. */
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ add: records }) },
    { weight: 3, arbitrary: fc.constant({ sumUp: true as const }) },
    { weight: 1, arbitrary: fc.record({ begin: fc.integer({ min: 0, max: 6 }) }) },
    { weight: 2, arbitrary: fc.record({ correct: fc.nat(), to: fc.constantFrom('completed', 'unsent') }) },
    { weight: 1, arbitrary: fc.record({ settle: fc.nat(), cost: fc.bigInt({ min: 0n, max: 10n ** 12n }) }) },
    { weight: 4, arbitrary: fc.record({ ask: questions }) },
  ),
  { minLength: 4, maxLength: 14, size: 'max' },
);

let ids = 0;

function rowOf({
  hour,
  key,
  model,
  tags,
  status,
  protocol,
  tokens,
  isEstimated,
  cost,
  firstByte,
  ms,
}: Described): UsageRow {
  const [provider = '', name = ''] = model.split('/');
  const started = (FIRST + hour) * HOUR_MS + 1000;
  const id = `r${++ids}`;
  return {
    ...{ id, started_at: started, key_id: key, model: name, endpoint_provider: provider, endpoint_model: name },
    ...{ protocol_in: protocol, protocol_out: 'chat', stream: 0, status, error_code: null, finish: null },
    ...{
      estimated: Number(isEstimated),
      attempts: 1,
      input_tokens: tokens,
      output_tokens: tokens * 2,
      cached_tokens: 1,
      cache_write_tokens: 0,
    },
    ...{
      reasoning_tokens: 0,
      audio_tokens: 0,
      searches: 0,
      cost,
      first_byte_ms: firstByte,
      total_ms: ms,
      upstream_id: null,
    },
    ...{ ended_at: started + ms, trace: null, tags },
  };
}

const NO_SUMS = {
  ...{ requests: 0, failures: 0, input: 0, output: 0, cost: 0n },
  ...{ assessed: 0, partial: 0, estimated: 0, estimatedCost: 0n },
};

/** The sums of records, added up one by one. */
function expectedSums(rows: Iterable<UsageRow>, { from, length, zone, by, filter }: Question): Row[] {
  const offsets = zoneOffsets(zone, FIRST + from, FIRST + from + length);
  const groups = new Map<string, Row>();
  for (const row of rows) {
    const hour = hourOf(row);
    if (hour < FIRST + from || hour >= FIRST + from + length || !matches(row, filter)) continue;
    const minutes = offsets.findLast(({ fromHour }) => hour >= fromHour)?.minutes ?? 0;
    const all: Row = {
      day: Math.floor((hour * 60 + minutes) / 1440),
      hour,
      model: `${row.endpoint_provider}/${row.endpoint_model}`,
      provider: row.endpoint_provider,
      key: row.key_id,
      protocol: row.protocol_in,
      status: row.status,
      tags: row.tags ?? '',
    };
    const named = Object.fromEntries(by.map((name) => [name, all[name] ?? null]));
    const name = JSON.stringify(named);
    const sums = groups.get(name) ?? { ...named, ...NO_SUMS };
    groups.set(name, sums);
    sums.requests = Number(sums.requests) + 1;
    sums.failures = Number(sums.failures) + (row.status === 'failed' ? 1 : 0);
    sums.input = Number(sums.input) + row.input_tokens;
    sums.output = Number(sums.output) + row.output_tokens;
    sums.cost = BigInt(sums.cost as bigint) + row.cost;
    sums.assessed = Number(sums.assessed) + 1;
    sums.partial = Number(sums.partial) + (row.status === 'partial' ? 1 : 0);
    if (row.estimated !== 1) continue;
    sums.estimated = Number(sums.estimated) + row.input_tokens + row.output_tokens;
    sums.estimatedCost = BigInt(sums.estimatedCost as bigint) + row.cost;
  }
  return [...groups.values()];
}

/** Counts by time of records, one by one. */
function expectedTimes(rows: Iterable<UsageRow>, { from, length, filter }: Question): number[] {
  const counts = noCounts();
  const isAsked = (row: UsageRow) => hourOf(row) >= FIRST + from && hourOf(row) < FIRST + from + length;
  for (const row of rows) if (isAsked(row) && matches(row, filter)) countTimes(counts, row, 1);
  return counts;
}

function latestHour(
  rows: readonly UsageRow[],
  { filter, since, until }: { filter: UsageFilter; since: number; until: number },
): number | undefined {
  const hours = rows.filter((row) => matches(row, filter)).map(hourOf);
  return hours.filter((hour) => hour >= since && hour <= until).toSorted((one, other) => other - one)[0];
}

/** Of all days that ever had a record. */
function recordsByDay(known: Iterable<UsageRow>, ever: readonly UsageRow[]): Row[] {
  const days = new Map(ever.map((row) => [Math.floor(hourOf(row) / 24), 0]));
  for (const row of known) {
    const day = Math.floor(hourOf(row) / 24);
    days.set(day, (days.get(day) ?? 0) + 1);
  }
  const rows = [...days].map(([day, records]) => ({ day, records }));
  return rows.toSorted((one, other) => other.day - one.day);
}

const hourOf = (row: UsageRow) => Math.floor(row.started_at / HOUR_MS);

function matches(row: UsageRow, filter: UsageFilter): boolean {
  const own: UsageFilter = {
    keyId: row.key_id,
    model: `${row.endpoint_provider}/${row.endpoint_model}`,
    provider: row.endpoint_provider,
    protocol: row.protocol_in,
    status: row.status,
  };
  return Object.entries(filter).every(([name, value]) =>
    name === 'tag' ? (row.tags ?? '').split(' ').includes(value) : own[name as keyof UsageFilter] === value,
  );
}

/** By the dimensions of the question, and of the same moment by all of them but the first. */
async function askedSums(store: Store, { from, length, zone, by, filter }: Question): Promise<[Row[], Row[]]> {
  const span = { from: FIRST + from, to: FIRST + from + length };
  const offsets = zoneOffsets(zone, span.from, span.to);
  const query: UsageSumsQuery = { ...span, by, filter, offsets, ...(by.length > 1 && { secondBy: by.slice(1) }) };
  const rows: Row[] = await store.call('usageSums', query);
  const isSecond = ({ second }: Row) => second === 1;
  return [
    namedSums(
      rows.filter((row) => !isSecond(row)),
      by,
    ),
    namedSums(rows.filter(isSecond), by.slice(1)),
  ];
}

function namedSums(rows: readonly Row[], by: readonly string[]): Row[] {
  return rows.flatMap((row) => {
    if (Number(row.requests) === 0 && row.cost === '0') return [];
    const named = Object.fromEntries(by.map((name) => [name, row[name] ?? null]));
    const { requests = 0, failures = 0, input_tokens: input = 0, output_tokens: output = 0, cost } = row;
    const { assessed = 0, partial = 0, estimated_tokens: estimated = 0 } = row;
    const estimates = { assessed, partial, estimated, estimatedCost: BigInt(String(row.estimated_cost)) };
    return [{ ...named, requests, failures, input, output, cost: BigInt(String(cost)), ...estimates }];
  });
}

const sorted = (rows: readonly Row[]) => rows.map(textOf).toSorted();
const textOf = (row: Row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value));

async function add(store: Store, rows: readonly UsageRow[]): Promise<void> {
  await store.call('recordUsage', { begun: [], finished: rows.map((row) => ({ row, begun: false })) });
}

const sumUp = (store: Store) => createDailySums({ store, clock: systemClock }).run();
const begin = (store: Store, start: number) =>
  store.call('claimDay', { start, build: 'unfinished', until: 0, now: store.now() });

forEachStore((name, open) => {
  test(`reports are the sums of the records, from days and hours, while records change (${name})`, async (context) => {
    const store = await open(context);
    const known = new Map<string, UsageRow>();
    /** With those that were withdrawn. */
    const ever: UsageRow[] = [];
    const videos = new Map<string, UsageRow & { revision: number }>();
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        for (const step of all) {
          if ('add' in step) {
            const rows = step.add.map(rowOf);
            await add(store, rows);
            for (const row of rows) known.set(row.id, row);
            ever.push(...rows);
          } else if ('sumUp' in step) {
            await store.call('noteZones', { firstHours: [22, 23, 19, 4], now: store.now() + ids });
            await sumUp(store);
          } else if ('begin' in step) {
            await begin(store, FIRST + 24 * step.begin);
          } else if ('correct' in step) {
            const open = [...known.values()].filter(({ status, id }) => status === 'interrupted' && !videos.has(id));
            const row = open[step.correct % open.length];
            if (!row) continue;
            if (step.to === 'unsent') {
              await store.call('recordUsage', { begun: [], finished: [], withdrawn: [row] });
              known.delete(row.id);
            } else {
              const after = { ...row, status: 'completed' as const, cost: row.cost + 5n, output_tokens: 1 };
              await store.call('recordUsage', { begun: [], finished: [{ row: after, begun: true }] });
              known.set(row.id, after);
            }
          } else if ('settle' in step) {
            const before = [...videos.values()][step.settle % (videos.size + 1)];
            const {
              ended_at: _,
              trace: __,
              ...row
            } = before ?? {
              ...rowOf({ ...VIDEO, hour: step.settle % HOURS }),
              revision: 0,
            };
            const after = { ...row, revision: row.revision + 1, cost: step.cost };
            await store.call('recordTaskUsage', { row: after, held: false });
            known.set(row.id, after);
            ever.push(after);
            videos.set(row.id, after);
          } else {
            assert.deepEqual(await store.call('usageByDay', {}), recordsByDay(known.values(), ever));
            for (const question of step.ask) {
              const expected = sorted(expectedSums(known.values(), question));
              const [found, second] = await askedSums(store, question);
              assert.deepEqual(sorted(found), expected, JSON.stringify(question));
              if (question.by.length > 1) {
                const fewer = expectedSums(known.values(), { ...question, by: question.by.slice(1) });
                assert.deepEqual(sorted(second), sorted(fewer), JSON.stringify(question));
                asked += fewer.length;
              }
              asked += expected.length;
              const span = { from: FIRST + question.from, to: FIRST + question.from + question.length };
              assert.deepEqual(
                await store.call('usageTimes', { ...span, filter: question.filter }),
                expectedTimes(known.values(), question),
                JSON.stringify(question),
              );
              const { status: _, protocol: __, ...filter } = question.filter;
              const [since, until] = [FIRST + question.from, FIRST + question.from + question.length - 1];
              assert.equal(
                await store.call('latestUsageHour', { filter, since, until }),
                latestHour(ever, { filter, since, until }),
                JSON.stringify(question),
              );
            }
          }
        }
      }),
      { numRuns: name === 'sqlite' ? 50 : 15, endOnFailure: true },
    );
    assert.ok(asked > 100, `${asked} sums were compared`);
  });

  test(`a change of an hour takes the sums of its day back, whichever version makes it (${name})`, async (context) => {
    const store = await open(context, RAW_SQL);
    await add(store, [rowOf({ ...VIDEO, cost: 5n }), rowOf({ ...VIDEO, hour: 30, cost: 7n })]);
    const total = async () =>
      (await askedSums(store, { from: 0, length: HOURS, zone: 'UTC', by: ['day'], filter: {} }))[0];
    assert.equal(await sumUp(store), 2);
    assert.equal(await sumUp(store), 0);
    const before = await total();
    await rawSql(store, 'UPDATE usage_day SET requests = 100');
    assert.deepEqual(
      (await total()).map(({ requests }) => requests),
      [100, 100],
    );
    await rawSql(
      store,
      `INSERT INTO usage_hour (hour, key_id, model, provider, requests, failures, input_tokens, output_tokens, cached_tokens,
         cache_write_tokens, reasoning_tokens, cost) VALUES (${FIRST + 23}, 'key-9', 'a/m', 'a', 1, 0, 0, 0, 0, 0, 0, 1)`,
    );
    assert.deepEqual(
      (await total()).map(({ requests }) => requests),
      [2, 100],
    );
    await rawSql(store, `UPDATE usage_hour SET requests = requests + 1 WHERE hour = ${FIRST + 30}`);
    assert.deepEqual(
      (await total()).map(({ requests }) => requests),
      [2, 2],
    );
    assert.equal(await sumUp(store), 2);
    assert.deepEqual(
      (await total()).map(({ requests, cost }) => [requests, cost]),
      before.map(({ requests, cost }, index) => [
        Number(requests) + 1,
        BigInt(cost as bigint) + (index === 0 ? 1n : 0n),
      ]),
    );
  });

  test(`sums that are made while an hour changes do not count (${name})`, async (context) => {
    const store = await open(context);
    await add(store, [rowOf(VIDEO)]);
    const day = { start: FIRST, build: 'one' };
    const until = store.now() + 60_000;
    assert.equal(await store.call('claimDay', { ...day, until, now: store.now() }), true);
    assert.equal(await store.call('clearDay', { ...day, until, limit: 10 }), 0);
    const rows = await store.call('sumsOfDay', { table: 'usage_day', start: FIRST, limit: 10 });
    assert.equal(rows.length, 1);
    await add(store, [rowOf(VIDEO)]);
    assert.equal(await store.call('addDaySums', { ...day, until, table: 'usage_day', rows }), false);
    assert.equal(await store.call('completeDay', day), false);
    assert.equal(await store.call('clearDay', { ...day, until, limit: 10 }), undefined);
    assert.equal(await sumUp(store), 1);
  });

  test(`a day is summed up by one gateway, and by another one if that one dies (${name})`, async (context) => {
    const store = await open(context);
    const other = await store.beside();
    const rows = Array.from({ length: 300 }, (_, index) => rowOf({ ...VIDEO, hour: index % 48, key: `key-${index}` }));
    await add(store, rows);
    const now = store.now();
    const dead = { start: FIRST, build: 'dead', until: now + 1000 };
    assert.equal(await store.call('claimDay', { ...dead, now }), true);
    assert.equal(await other.call('dayToSum', { end: FIRST + 24, firstHour: 0, now }), undefined);
    assert.equal(await other.call('claimDay', { ...dead, build: 'other', now: now + 999 }), false);
    const sums = await store.call('sumsOfDay', { table: 'usage_day', start: FIRST, limit: 1000 });
    assert.equal(await store.call('addDaySums', { ...dead, table: 'usage_day', rows: sums }), true);
    assert.equal(await other.call('dayToSum', { end: FIRST + 24, firstHour: 0, now: now + 1000 }), FIRST);
    assert.equal(await other.call('claimDay', { ...dead, build: 'other', now: now + 1000 }), true);
    assert.equal(await store.call('completeDay', dead), false);
    assert.equal(await other.call('clearDay', { ...dead, build: 'other', limit: 100 }), 100);
    await store.call('forgetDaysAfter', { end: FIRST });
    const days = await Promise.all([sumUp(store), sumUp(other)]);
    assert.equal(
      days.reduce((sum, count) => sum + count),
      2,
    );
    for (const by of [['key'], ['tags', 'key']] as Question['by'][]) {
      const question = { from: 0, length: 48, zone: 'UTC', by, filter: {} };
      const [found] = await askedSums(store, question);
      assert.deepEqual(sorted(found), sorted(expectedSums(rows, question)));
    }
  });

  test(`a gateway looks each minute while there are days, then each ten minutes (${name})`, async (context) => {
    const store = await open(context);
    const clock = createManualClock(store.now());
    const log = { warn: (problem: unknown) => assert.fail(String(problem)) };
    let looks = 0;
    let timers = 0;
    const after: typeof clock.after = (milliseconds, callback) => {
      timers += 1;
      return clock.after(milliseconds, () => {
        timers -= 1;
        looks += 1;
        callback();
      });
    };
    /** A look has ended when it has set the timer of the next. */
    const looksAfter = async (minutes: number) => {
      clock.advance(minutes * 60_000);
      while (timers === 0) await nextTurn();
      return looks;
    };
    const due = () => store.call('dayToSum', { end: FIRST + HOURS, firstHour: 0, now: store.now() });
    await add(store, [rowOf(VIDEO)]);
    const stop = startDailySums({ store, clock: { ...clock, after }, log });
    assert.equal(await due(), FIRST);
    assert.equal(await looksAfter(1), 1);
    assert.equal(await due(), undefined);
    assert.equal(await looksAfter(1), 2);
    assert.equal(await looksAfter(9), 2);
    assert.equal(await looksAfter(1), 3);
    await add(store, [rowOf(VIDEO)]);
    assert.equal(await looksAfter(10), 4);
    assert.equal(await due(), undefined);
    await stop();
    assert.equal(await looksAfter(100), 4);
  });

  test(`days of zones are summed up after a report has asked by them (${name})`, async (context) => {
    const store = await open(context, RAW_SQL);
    await add(store, [rowOf({ ...VIDEO, hour: 19 }), rowOf({ ...VIDEO, hour: 40 })]);
    const ask = async (zone: string, by: string) => {
      const query = new URLSearchParams({ from: '2025-10-20', to: '2025-10-30', zone, by });
      const { data } = await reportUse(store, readUseQuery(query, store.now(), USE_DIMENSIONS), NO_CONTEXT);
      return data.map((row) => [row.day ?? row.month, row.requests]);
    };
    assert.equal(await sumUp(store), 2);
    // Kolkata is 5:30 hours ahead: its days begin with the hour at 19:00.
    assert.deepEqual(await ask('Asia/Kolkata', 'day'), [['2025-10-23', 2]]);
    assert.equal(await sumUp(store), 1);
    assert.deepEqual(await ask('Asia/Kolkata', 'month'), [['2025-10', 2]]);
    await rawSql(store, 'UPDATE usage_day SET requests = 50 WHERE start % 24 = 19');
    assert.deepEqual(await ask('Asia/Kolkata', 'day'), [['2025-10-23', 50]]);
    assert.deepEqual(await ask('UTC', 'day'), [
      ['2025-10-22', 1],
      ['2025-10-23', 1],
    ]);
    await add(store, [rowOf({ ...VIDEO, hour: 20 })]);
    assert.deepEqual(await ask('Asia/Kolkata', 'day'), [['2025-10-23', 3]]);
    assert.equal(await sumUp(store), 2);
    // Ten zones: the four that were asked by last.
    const now = store.now();
    for (let hour = 1; hour <= 10; hour++) await store.call('noteZones', { firstHours: [hour], now: now + hour });
    assert.deepEqual(await store.call('askedZones', { since: now + 8, limit: 4 }), [10, 9, 8]);
    assert.deepEqual(await store.call('askedZones', { since: 0, limit: 4 }), [10, 9, 8, 7]);
  });

  test(`days of a zone are deleted when nobody has asked by it for 30 days, and made again when somebody does (${name})`, async (context) => {
    const store = await open(context, RAW_SQL);
    const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`);
    await add(
      store,
      keys.flatMap((key) => [rowOf({ ...VIDEO, key, hour: 20 }), rowOf({ ...VIDEO, key, hour: 70 })]),
    );
    const now = store.now();
    const runAt = (days: number) =>
      createDailySums({ store: { ...store, now: () => now + days * 24 * HOUR_MS }, clock: systemClock }).run();
    const startsOf = async (table: string) => {
      const rows = await rawSql(store, `SELECT DISTINCT start FROM ${table} ORDER BY start`);
      return rows.map(({ start }) => Number(start) - FIRST);
    };
    await store.call('noteZones', { firstHours: [19], now });
    await store.call('noteZones', { firstHours: [4], now: now + 24 * HOUR_MS });
    assert.equal(await runAt(0), 6);
    assert.equal(await runAt(30), 0);
    // Deletes the states of three days and leaves their sums.
    await add(store, [rowOf({ ...VIDEO, hour: 20 })]);
    assert.deepEqual(await startsOf('usage_day'), [0, 4, 19, 48, 52, 67]);
    assert.equal(await runAt(30.5), 2);
    for (const table of ['usage_day', 'usage_part_day', 'usage_day_state'])
      assert.deepEqual(await startsOf(table), [0, 4, 48, 52], table);
    const zones = await rawSql(store, 'SELECT first_hour FROM usage_day_zone');
    assert.deepEqual(
      zones.map(({ first_hour }) => Number(first_hour)),
      [4],
    );
    await store.call('noteZones', { firstHours: [19], now: now + 31 * 24 * HOUR_MS });
    assert.equal(await runAt(31), 2);
    assert.deepEqual(await startsOf('usage_day'), [0, 4, 19, 48, 52, 67]);
  });

  test(`days are summed up hours after their end, and no more when the clock is set back (${name})`, async (context) => {
    const store = await open(context);
    await add(store, [rowOf(VIDEO), rowOf({ ...VIDEO, hour: 24 })]);
    const at = (hour: number) =>
      createDailySums({ store: { ...store, now: () => hour * HOUR_MS }, clock: systemClock }).run();
    assert.equal(await at(FIRST + 27), 0);
    assert.equal(await at(FIRST + 28), 1);
    assert.equal(await at(FIRST + 52), 1);
    assert.equal(await at(FIRST + 40), 0);
    assert.equal(await at(FIRST + 52), 1);
  });

  // SQLite has one writer.
  if (name === 'postgres') {
    test(`a day is summed up with what a transaction from before the build adds (${name})`, async (context) => {
      const store = await open(context, RAW_SQL);
      await add(store, [rowOf(VIDEO)]);
      // Its change is before the claim, its commit after it.
      const late = rawSql(
        store,
        'DO $$ BEGIN UPDATE usage_hour SET requests = requests + 1; PERFORM pg_sleep(1); END $$',
      );
      // Its lock on the table comes before its change.
      const asleep = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
      while ((await rawSql(store, asleep)).length === 0) await nextTurn();
      assert.equal((await store.call('sumWriters', {})).length, 1);
      assert.equal(await sumUp(store), 1);
      await late;
      const [rows] = await askedSums(store, { from: 0, length: 24, zone: 'UTC', by: [], filter: {} });
      assert.deepEqual(
        rows.map(({ requests }) => requests),
        [2],
      );
    });

    test(`a run that waits for a transaction ends when it is aborted (${name})`, async (context) => {
      const store = await open(context, RAW_SQL);
      await add(store, [rowOf(VIDEO)]);
      const late = rawSql(
        store,
        'DO $$ BEGIN UPDATE usage_hour SET requests = requests + 1; PERFORM pg_sleep(1); END $$',
      );
      while ((await store.call('sumWriters', {})).length === 0) await nextTurn();
      const ending = new AbortController();
      let hasWaited = () => {};
      const waited = new Promise<void>((resolve) => {
        hasWaited = resolve;
      });
      // Its time stands still, as that of a wait which is long.
      const clock: Clock = {
        ...systemClock,
        after() {
          hasWaited();
          return () => {};
        },
      };
      const days = createDailySums({ store, clock }).run(ending.signal);
      await waited;
      ending.abort();
      assert.equal(await days, 0);
      await late;
    });
  }
});

const VIDEO: Described = {
  ...{ hour: 0, key: 'key-1', model: 'b/m1', tags: 'team=ads', status: 'completed', protocol: 'videos' },
  ...{ tokens: 0, isEstimated: false, cost: 0n, firstByte: null, ms: 5 },
};

forEachStore((name, open) => {
  test(`sums with more models without a price than a statement may have parameters (${name})`, async (context) => {
    const store = await open(context);
    const unpriced = Array.from({ length: 70_000 }, (_, index) => `any/model "${index}"`);
    const hours = { from: FIRST, to: FIRST + 1, unpriced };
    assert.deepEqual(await store.call('usageSums', { ...hours, by: ['key'] }), []);
    const minutes = { from: FIRST * 60, to: FIRST * 60 + 60, filter: {}, unpriced };
    assert.deepEqual(await store.call('usageMinutes', { ...minutes, by: ['key'] }), []);
  });
});
