/** Usage recorder: records are durable before they are acknowledged and counted once, whatever fails in between. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { tagSubject } from '../../src/records/tags.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { encodeBegin, encodeEnd, encodeInterrupted } from '../../src/usage/journal/records.ts';
import { createRecorder, type Recorder } from '../../src/usage/recorder.ts';
import { recoverInterrupted } from '../../src/usage/recovery.ts';
import { forEachStore, openTestSqlite } from '../store/stores.ts';
import { completion, intent, NOON } from './records.ts';

const log = pino({ level: 'silent' });
const HOUR = Math.floor(NOON / 3_600_000);

function recorderOn(
  store: Pick<Store, 'call'>,
  durability: 'strict' | 'batched' = 'strict',
  instance = 'one',
): Recorder {
  return createRecorder({ store, instance, durability, log, capacity: 100 });
}

function sumsOf(store: Store) {
  return store.call('usageSums', { from: HOUR, to: HOUR + 1, by: ['key', 'model'] });
}

/** A store whose writes of records fail while `broken`, before or after they are done. */
function breakable(store: Store) {
  const state: { broken?: 'before' | 'after'; tries: number } = { tries: 0 };
  const call = (async (name: 'recordUsage', parameters: never) => {
    state.tries += 1;
    if (state.broken === 'before') throw new StoreUnavailable('gone');
    const result = await store.call(name, parameters);
    if (state.broken === 'after') throw new StoreUnavailable('answer lost');
    return result;
  }) as Store['call'];
  return { state, call };
}

forEachStore((name, open) => {
  test(`a record has the failed tools of its request, also when the gateway died (${name})`, async (context) => {
    const store = await open(context);
    const recorder = recorderOn(store);
    const counts: Record<string, number | undefined> = { none: undefined, zero: 0, three: 3, died: 2 };
    for (const [id, toolFailures] of Object.entries(counts)) {
      await recorder.begin(intent(id, { toolFailures }));
      if (id !== 'died') await recorder.finish(intent(id, { toolFailures }), completion({ upstreamId: undefined }));
    }
    assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, 1);
    const found = [];
    for (const id of Object.keys(counts)) {
      const count = (await store.call('usageRecord', { id, keyId: 'key-1' }))?.tool_failures;
      found.push(count === null ? null : Number(count));
    }
    assert.deepEqual(found, [null, 0, 3, 2]);
  });

  test(`a journal keeps the failed tools of requests that end, and of those that do not (${name})`, async (context) => {
    const store = await open(context);
    const counts: Record<string, number | undefined> = { none: undefined, zero: 0, three: 3 };
    const payloads = Object.entries(counts).flatMap(([id, toolFailures]) =>
      ['', 'team=search'].flatMap((tags) => [
        encodeEnd(intent(`${id} ${tags}`, { tags, toolFailures }), completion({ upstreamId: undefined })),
        encodeInterrupted(encodeBegin(intent(`${id} ${tags} died`, { tags, toolFailures })), NOON),
      ]),
    );
    const position = { segment: 1, offset: 1, oldest: 1 };
    await store.call('storeJournalBatch', { journal: 'journal', position, records: payloads });
    for (const [id, toolFailures = null] of Object.entries(counts)) {
      for (const [tags, end] of [
        ['', ''],
        ['', ' died'],
        ['team=search', ''],
        ['team=search', ' died'],
      ]) {
        const row = await store.call('usageRecord', { id: `${id} ${tags}${end}`, keyId: 'key-1' });
        const count = row?.tool_failures === null ? null : Number(row?.tool_failures);
        assert.deepEqual([count, row?.tags], [toolFailures, tags], `${id} ${tags}${end}`);
      }
    }
  });

  test(`a journal keeps that a price is unknown, of requests that end and of those that do not (${name})`, async (context) => {
    const store = await open(context);
    const more = { tags: 'team=search', estimate: { input: 7, cost: undefined } };
    const payloads = [
      encodeEnd(intent('ended', more), completion({ cost: undefined, usage: { input: 20, output: 3 } })),
      encodeInterrupted(encodeBegin(intent('died', more)), NOON),
      encodeEnd(intent('priced', { tags: more.tags }), completion({ cost: 5n })),
    ];
    const position = { segment: 1, offset: 1, oldest: 1 };
    await store.call('storeJournalBatch', { journal: 'journal', position, records: payloads });
    const starts = [{ period: 'total', startsAt: 0 }];
    for (const subject of ['key-1', tagSubject(more.tags)]) {
      const found = await store.call('spentBy', { subject, starts });
      assert.deepEqual(
        found.map(({ spent, unpriced }) => [spent, unpriced]),
        [[5n, 30n]],
        subject,
      );
    }
    const died = await store.call('usageRecord', { id: 'died', keyId: 'key-1' });
    assert.deepEqual([died?.tags, died?.tool_failures], [more.tags, null]);
  });

  test(`a batch of a journal in several texts is stored once, whole or not at all (${name})`, async (context) => {
    const store = await open(context);
    const texts = [['one', 'two'], ['three']].map((ids) =>
      ids.map((id) => encodeEnd(intent(id), completion({ cost: 5n, upstreamId: undefined }))).join(','),
    );
    const batch = { journal: 'journal', position: { segment: 1, offset: 1, oldest: 1 } };
    await assert.rejects(store.call('storeJournalBatch', { ...batch, records: [...texts, '[null]'] }));
    assert.equal(await store.call('usageRecord', { id: 'one', keyId: 'key-1' }), undefined);
    assert.deepEqual(await sumsOf(store), []);
    for (let time = 0; time < 2; time++) await store.call('storeJournalBatch', { ...batch, records: texts });
    const [sum] = await sumsOf(store);
    assert.deepEqual([Number(sum?.requests), String(sum?.cost)], [3, '15']);
    for (const id of ['one', 'two', 'three']) assert.ok(await store.call('usageRecord', { id, keyId: 'key-1' }), id);
  });

  test(`a finished request is a record, a sum and a spending (${name})`, async (context) => {
    const store = await open(context);
    const recorder = recorderOn(store);
    await recorder.begin(intent('a'));
    await recorder.finish(intent('a'), completion());
    await recorder.flushed();
    const record = await store.call('usageRecord', { id: 'a', keyId: 'key-1' });
    assert.equal(record?.status, 'completed');
    assert.equal(record?.input_tokens, 120);
    assert.equal(record?.cost, '1500000000');
    assert.equal(record?.first_byte_ms, 40);
    assert.deepEqual(await store.call('usageRecord', { id: 'chatcmpl-1', keyId: 'key-1' }), record);
    assert.equal(await store.call('usageRecord', { id: 'a', keyId: 'key-2' }), undefined);
    const [sum] = await sumsOf(store);
    assert.deepEqual(
      { ...sum },
      {
        key: 'key-1',
        model: 'openai/gpt-5',
        requests: 1,
        failures: 0,
        input_tokens: 120,
        output_tokens: 30,
        cached_tokens: 20,
        cache_write_tokens: 0,
        reasoning_tokens: 0,
        assessed: 1,
        partial: 0,
        estimated_tokens: 0,
        cost: '1500000000',
        estimated_cost: '0',
      },
    );
    const starts = [
      { period: 'week', startsAt: Date.UTC(2026, 10, 16) },
      { period: 'total', startsAt: 0 },
    ];
    const spent = await store.call('spentBy', { subject: 'key-1', starts });
    assert.deepEqual(
      spent.map((row) => ({ ...row })),
      starts.map(({ period }) => ({ period, spent: 1_500_000_000n, estimated: 0n, videos: 0n, unpriced: 0n })),
    );
    assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, 0);
  });

  test(`a thousand at once are a thousand records and one sum (${name})`, async (context) => {
    const store = await open(context);
    const recorder = createRecorder({ store, instance: 'one', durability: 'strict', log });
    const ids = Array.from({ length: 1000 }, (_, index) => `r${index}`);
    await Promise.all(
      ids.map(async (id) => {
        await recorder.begin(intent(id));
        await recorder.finish(intent(id), completion({ cost: 3n }));
      }),
    );
    await recorder.flushed();
    const [sum] = await sumsOf(store);
    assert.equal(sum?.requests, 1000);
    assert.equal(sum?.cost, '3000');
    assert.deepEqual(
      (await store.call('usageByDay', {})).map((row) => row.records),
      [1000],
    );
  });

  test(`what a dead gateway left behind is recorded once (${name})`, async (context) => {
    const store = await open(context);
    const beat = { now: NOON, until: NOON + 10_000, exclusive: false };
    await store.call('heartbeat', { id: 'alive', ...beat });
    await store.call('heartbeat', { id: 'dead', ...beat, until: NOON + 1000 });
    const dead = recorderOn(store, 'strict', 'dead');
    await dead.begin(intent('left'));
    await recorderOn(store, 'strict', 'alive').begin(intent('running'));
    assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, 0);
    assert.equal((await store.call('recoverUsage', { now: NOON + 5000 })).recovered, 1);
    const record = await store.call('usageRecord', { id: 'left', keyId: 'key-1' });
    assert.equal(record?.status, 'interrupted');
    assert.equal(record?.estimated, 1);
    assert.equal(record?.input_tokens, 100);
    assert.equal(record?.total_ms, 5000);
    // It was not dead after all, only slow.
    await dead.finish(intent('left'), completion());
    await dead.flushed();
    assert.equal((await sumsOf(store))[0]?.requests, 1);
    assert.equal((await store.call('recoverUsage', { now: NOON + 5000 })).recovered, 0);
  });

  test(`what a dead gateway left behind is recorded in parts, each once, also by several gateways (${name})`, async (context) => {
    const store = await open(context);
    const dead = recorderOn(store, 'strict', 'dead');
    const ids = ['a', 'b', 'c', 'd', 'e'];
    for (const id of ids) await dead.begin(intent(id));
    await store.call('heartbeat', { id: 'alive', now: NOON, until: NOON + 10_000, exclusive: false });
    const running = recorderOn(store, 'strict', 'alive');
    await running.begin(intent('running'));
    let recovered = 0;
    let parts = 0;
    for (let hasMore = true; hasMore; parts++) {
      // Another gateway each time: the one before was killed.
      const next = await store.beside();
      const part = await next.call('recoverUsage', { now: NOON + 1000, limit: 2 });
      assert.ok(part.recovered <= 2);
      recovered += part.recovered;
      hasMore = part.hasMore;
    }
    assert.ok(parts >= 3);
    assert.equal(recovered, ids.length);
    for (const id of ids)
      assert.equal((await store.call('usageRecord', { id, keyId: 'key-1' }))?.status, 'interrupted');
    assert.equal((await sumsOf(store))[0]?.requests, ids.length);
    assert.deepEqual(await store.call('recoverUsage', { now: NOON + 1000, limit: 2 }), {
      recovered: 0,
      hasMore: false,
    });
    await running.finish(intent('running'), completion());
    await running.flushed();
    assert.equal((await sumsOf(store))[0]?.requests, ids.length + 1);
  });

  test(`all that a dead gateway left is recovered, however much (${name})`, async (context) => {
    const store = await open(context);
    const dead = recorderOn(store, 'strict', 'dead');
    const ids = Array.from({ length: 2500 }, (_, index) => `left-${index}`);
    for (let start = 0; start < ids.length; start += 100)
      await Promise.all(ids.slice(start, start + 100).map((id) => dead.begin(intent(id))));
    const sizes: number[] = [];
    const call = (async (operation: 'recoverUsage', parameters: never) => {
      const part = await store.call(operation, parameters);
      sizes.push(part.recovered);
      return part;
    }) as Store['call'];
    await recoverInterrupted({ store: { call, now: () => NOON }, log });
    assert.ok(Math.max(...sizes) <= 1000, `${sizes}`);
    assert.equal((await sumsOf(store))[0]?.requests, ids.length);
  });

  for (const broken of ['before', 'after'] as const) {
    for (const durability of ['strict', 'batched'] as const) {
      test(`a flush that fails ${broken} its commit counts once, ${durability} (${name})`, async (context) => {
        const store = await open(context);
        const { state, call } = breakable(store);
        const recorder = recorderOn({ call }, durability);
        await recorder.begin(intent('early'));
        state.broken = broken;
        state.tries = 0;
        // Nobody hangs because of us.
        await Promise.all([
          recorder.finish(intent('early'), completion({ cost: 5n })),
          recorder.begin(intent('whole')),
          recorder.finish(intent('whole'), completion({ cost: 7n })),
        ]);
        while (state.tries === 0) await new Promise(setImmediate);
        await new Promise(setImmediate);
        assert.equal(recorder.ready, durability === 'batched');
        state.broken = undefined;
        await recorder.close(10_000);
        assert.ok(recorder.ready);
        const [sum] = await sumsOf(store);
        assert.equal(sum?.requests, 2);
        assert.equal(sum?.cost, '12');
      });
    }
  }

  test(`old records go in parts and sums stay (${name})`, async (context) => {
    const store = await open(context);
    const recorder = recorderOn(store);
    const day = 24 * 3600 * 1000;
    for (const [index, id] of ['x', 'y', 'z'].entries()) {
      const old = intent(id, { startedAt: NOON - index * day });
      await recorder.begin(old);
      await recorder.finish(old, completion({ upstreamId: undefined }));
    }
    await recorder.flushed();
    const before = Math.floor(NOON / day);
    assert.equal(await store.call('pruneUsage', { day: before, limit: 1 }), 1);
    assert.equal(await store.call('pruneUsage', { day: before, limit: 10 }), 1);
    assert.equal(await store.call('pruneUsage', { day: before, limit: 10 }), 0);
    assert.equal((await store.call('usageByDay', {})).length, 3);
    assert.ok(await store.call('usageRecord', { id: 'x', keyId: 'key-1' }));
  });
});

/** What would be written, write by write. */
function counting() {
  const writes: { begun: unknown[]; finished: unknown[] }[] = [];
  const call = (async (_name: 'recordUsage', rows: (typeof writes)[number]) => {
    writes.push(rows);
    await new Promise(setImmediate);
  }) as unknown as Store['call'];
  return { writes, store: { call } };
}

test('what was never sent leaves no record, and no intent', async (context) => {
  const store = await openTestSqlite(context);
  const recorder = recorderOn(store);
  await recorder.begin(intent('early'));
  recorder.withdraw(intent('early'));
  void recorder.begin(intent('at once'));
  recorder.withdraw(intent('at once'));
  await recorder.close(10_000);
  assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, 0);
  assert.deepEqual(await store.call('usageByDay', {}), []);
});

for (const durability of ['strict', 'batched'] as const) {
  test(`records that the store did not take before the end are told (${durability})`, async () => {
    const lines: { level: number; msg: string; records?: number }[] = [];
    const told = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const call = (() => Promise.reject(new StoreUnavailable('gone'))) as Store['call'];
    const recorder = createRecorder({ store: { call }, instance: 'one', durability, log: told });
    await recorder.finish(intent('a'), completion());
    await Promise.all([recorder.begin(intent('b')), recorder.finish(intent('b'), completion())]);
    await recorder.close(100);
    const last = lines.at(-1);
    assert.deepEqual([last?.level, last?.records], [50, 2], JSON.stringify(lines));
    assert.match(last?.msg ?? '', /ends before/);
  });
}

test('batched records gather, and the last ones are written before the end', async () => {
  const { writes, store } = counting();
  const recorder = recorderOn(store, 'batched');
  for (let index = 0; index < 5; index++) {
    await recorder.finish(intent(`r${index}`), completion());
    await new Promise(setImmediate);
  }
  assert.equal(writes.length, 0);
  const closed = recorder.close(1000);
  void recorder.finish(intent('late'), completion());
  await closed;
  assert.equal(writes.flatMap(({ finished }) => finished).length, 6);
});

forEachStore((name, open) => {
  test(`names that no text can hold are shortened to what it can (${name})`, async (context) => {
    const store = await open(context);
    const recorder = recorderOn(store);
    const odd = intent('odd', { model: `\0${'x'.repeat(1000)}/auto` });
    await recorder.begin(odd);
    await recorder.close(1000);
    assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, 1);
    const next = recorderOn(store);
    await next.begin(intent('b'));
    await next.finish(intent('b'), completion({ finish: 's\0top', upstreamId: 'id\0' }));
    await next.flushed();
    assert.equal((await store.call('usageRecord', { id: 'b', keyId: 'key-1' }))?.finish, 'stop');
  });
});

test('batched records beyond what may wait are counted as lost', async () => {
  const never = { call: () => new Promise(() => {}) } as unknown as Pick<Store, 'call'>;
  const recorder = createRecorder({ store: never, instance: 'one', durability: 'batched', log, capacity: 2 });
  for (const id of ['1', '2', '3']) await recorder.finish(intent(id), completion());
  assert.equal(recorder.lost, 1);
  const strict = createRecorder({ store: never, instance: 'one', durability: 'strict', log, capacity: 2 });
  void strict.begin(intent('1'));
  await new Promise(setImmediate);
  for (const id of ['2', '3']) void strict.begin(intent(id));
  assert.equal(strict.ready, false);
});
