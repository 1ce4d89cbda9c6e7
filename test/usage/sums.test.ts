/** Sums by tags, protocol and status: those of the records, also of records that an earlier version wrote. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { tagSubject } from '../../src/records/tags.ts';
import type { Row } from '../../src/store/operation.ts';
import type { operations } from '../../src/store/operations/index.ts';
import type { Store } from '../../src/store/store.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { forEachStore } from '../store/stores.ts';
import { completion, intent, NOON } from './records.ts';

const OPERATIONS = { operations: new URL('./earlier-version.ts', import.meta.url) };
const HOUR = NOON / 3_600_000;
const log = pino({ level: 'silent' });

type Grouping = Parameters<typeof operations.usageSums.run>[1]['by'][number];
type Filter = Parameters<typeof operations.usageSums.run>[1]['filter'];

function sums(store: Store, by: Grouping[], filter: Filter = {}): Promise<Row[]> {
  return store.call('usageSums', { from: HOUR, to: HOUR + 2, by, filter });
}

const counted = (rows: readonly Row[], by: Grouping[]) =>
  rows.map((row) => [...by.map((name) => row[name]), row.requests, row.cost]);

async function record(store: Store, ...requests: [id: string, tags: string, more?: object, end?: object][]) {
  const recorder = createRecorder({ store, instance: 'one', durability: 'batched', log });
  for (const [id, tags, more = {}, end = {}] of requests) {
    await recorder.finish(intent(id, { tags, ...more }), completion({ cost: 5n, ...end }));
    await recorder.flushed();
  }
  await recorder.close(10_000);
}

async function forget(store: Store): Promise<void> {
  await store.call('forgetParts' as never, {} as never);
}

forEachStore((name, open) => {
  test(`sums have the tags, protocol and status of their records (${name})`, async (context) => {
    const store = await open(context);
    await record(
      store,
      ['a', 'env=prod team=search'],
      ['b', 'team=search', { protocolIn: 'messages' }],
      ['c', 'team=ads', { startedAt: NOON + 3_600_000 }, { status: 'failed' }],
      ['d', ''],
      ['e', 'subteam=search team=searching'],
    );
    assert.deepEqual(counted(await sums(store, ['tags']), ['tags']), [
      ['', 1, '5'],
      ['env=prod team=search', 1, '5'],
      ['subteam=search team=searching', 1, '5'],
      ['team=ads', 1, '5'],
      ['team=search', 1, '5'],
    ]);
    assert.deepEqual(counted(await sums(store, ['hour', 'status']), ['hour', 'status']), [
      [HOUR, 'completed', 4, '20'],
      [HOUR + 1, 'failed', 1, '5'],
    ]);
    assert.deepEqual(counted(await sums(store, ['protocol'], { tag: 'team=search' }), ['protocol']), [
      ['chat', 1, '5'],
      ['messages', 1, '5'],
    ]);
    assert.deepEqual(counted(await sums(store, [], { status: 'completed', protocol: 'chat' }), []), [[3, '15']]);
    assert.deepEqual(counted(await sums(store, ['key'], { tag: 'team=sea' }), ['key']), []);
  });

  test(`of what a key and a tag spend, estimates, videos and tokens without a price are known (${name})`, async (context) => {
    const store = await open(context);
    const tags = 'team=ads';
    await record(
      store,
      ['a', tags],
      ['b', '', {}, { cost: 7n, usage: { input: 1, output: 1, estimated: true } }],
      ['c', tags, {}, { cost: 11n, usage: { input: 1, output: 1, estimated: true } }],
      ['d', tags, {}, { cost: undefined, usage: { input: 10, output: 3 } }],
      ['e', '', {}, { cost: undefined, usage: { input: 20, output: 4 } }],
    );
    const video = { ...VIDEO, cost: 20n, revision: 1, tags };
    await store.call('recordTaskUsage', { row: video, held: false });
    await store.call('recordTaskUsage', { row: { ...video, cost: 30n, revision: 2 }, held: false });
    const starts = [{ period: 'total' as const, startsAt: 0 }];
    const periods = [...starts, { period: 'day' as const, startsAt: NOON }];
    for (const [subject, shares] of [
      ['key-1', { spent: 53n, estimated: 18n, videos: 30n, unpriced: 37n }],
      [tagSubject(tags), { spent: 46n, estimated: 11n, videos: 30n, unpriced: 13n }],
    ] as const) {
      assert.deepEqual(await store.call('spentBy', { subject, starts }), [{ period: 'total', ...shares }]);
      assert.deepEqual(await store.call('budgetUse', { subject, periods }), [
        { period: 'total', ...shares, held: 0n },
        { period: 'day', spent: 0n, estimated: 0n, videos: 0n, unpriced: 0n, held: 0n },
      ]);
    }
  });

  test(`a record that is corrected moves to its own status (${name})`, async (context) => {
    const store = await open(context);
    await store.call('heartbeat', { id: 'dead', now: NOON, until: NOON + 1, exclusive: false });
    const dead = createRecorder({ store, instance: 'dead', durability: 'strict', log });
    await dead.begin(intent('slow', { tags: 'team=ads' }));
    assert.equal((await store.call('recoverUsage', { now: NOON + 10 })).recovered, 1);
    assert.deepEqual(counted(await sums(store, ['tags', 'status']), ['tags', 'status']), [
      ['team=ads', 'interrupted', 1, '100'],
    ]);
    await dead.finish(intent('slow', { tags: 'team=ads' }), completion({ cost: 7n }));
    await dead.flushed();
    assert.deepEqual(counted(await sums(store, ['tags', 'status']), ['tags', 'status']), [
      ['team=ads', 'completed', 1, '7'],
    ]);
  });

  test(`tokens of an interrupted request without a price are replaced by those of its end (${name})`, async (context) => {
    const store = await open(context);
    const unpriced = async () => {
      const rows = await store.call('spentBy', { subject: 'key-1', starts: [{ period: 'total', startsAt: 0 }] });
      return rows.map((row) => row.unpriced);
    };
    const unknown = { estimate: { input: 100, cost: undefined } };
    await store.call('heartbeat', { id: 'dead', now: NOON, until: NOON + 1, exclusive: false });
    const dead = createRecorder({ store, instance: 'dead', durability: 'strict', log });
    await dead.begin(intent('slow', unknown));
    assert.equal((await store.call('recoverUsage', { now: NOON + 10 })).recovered, 1);
    assert.deepEqual(await unpriced(), [100n]);
    await dead.finish(intent('slow', unknown), completion({ cost: undefined, usage: { input: 90, output: 30 } }));
    await dead.flushed();
    assert.deepEqual(await unpriced(), [120n]);
  });

  test(`records of an earlier version are in every sum, without tags, protocol and status (${name})`, async (context) => {
    const store = await open(context, OPERATIONS);
    await record(store, ['old', ''], ['older', '', {}, { status: 'failed' }], ['other', '', { keyId: 'key-2' }]);
    await forget(store);
    await record(store, ['new', 'team=ads']);
    const by: Grouping[] = ['key', 'tags', 'status'];
    assert.deepEqual(counted(await sums(store, by), by), [
      ['key-1', 'team=ads', 'completed', 1, '5'],
      ['key-1', null, null, 2, '10'],
      ['key-2', null, null, 1, '5'],
    ]);
    assert.deepEqual(counted(await sums(store, []), []), [[4, '20']]);
    assert.deepEqual(counted(await sums(store, [], { tag: 'team=ads' }), []), [[1, '5']]);
  });

  test(`the correction of a record of an earlier version leaves nothing negative (${name})`, async (context) => {
    const store = await open(context, OPERATIONS);
    await store.call('heartbeat', { id: 'dead', now: NOON, until: NOON + 1, exclusive: false });
    const dead = createRecorder({ store, instance: 'dead', durability: 'strict', log });
    await dead.begin(intent('slow'));
    assert.equal((await store.call('recoverUsage', { now: NOON + 10 })).recovered, 1);
    await forget(store);
    assert.deepEqual(counted(await sums(store, ['status']), ['status']), [[null, 1, '100']]);
    await dead.finish(intent('slow'), completion({ cost: 7n }));
    await dead.flushed();
    assert.deepEqual(counted(await sums(store, ['status']), ['status']), [['completed', 1, '7']]);
    assert.deepEqual(counted(await sums(store, []), []), [[1, '7']]);
  });

  test(`a video that an earlier version recorded keeps its place (${name})`, async (context) => {
    const store = await open(context, OPERATIONS);
    const row = { ...VIDEO, cost: 20n, revision: 1, tags: '' };
    await store.call('recordTaskUsage', { row, held: false });
    await forget(store);
    await store.call('recordTaskUsage', { row: { ...row, tags: 'team=ads', cost: 30n, revision: 2 }, held: false });
    assert.deepEqual(counted(await sums(store, ['tags']), ['tags']), [[null, 1, '30']]);
    const other = { ...row, id: 'v2', tags: 'team=ads' };
    await store.call('recordTaskUsage', { row: other, held: false });
    await store.call('recordTaskUsage', { row: { ...other, cost: 4n, revision: 2 }, held: false });
    assert.deepEqual(counted(await sums(store, ['tags', 'protocol']), ['tags', 'protocol']), [
      ['team=ads', 'videos', 1, '4'],
      [null, null, 1, '30'],
    ]);
  });
});

const VIDEO = {
  ...{ id: 'v1', started_at: NOON, key_id: 'key-1', model: 'up/video', endpoint_provider: 'up' },
  ...{
    endpoint_model: 'video',
    protocol_in: 'videos',
    protocol_out: 'videos',
    stream: 0,
    status: 'completed' as const,
  },
  ...{ error_code: null, finish: null, estimated: 0, attempts: 1, input_tokens: 0, output_tokens: 0 },
  ...{ cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0, audio_tokens: 0, searches: 0 },
  ...{ first_byte_ms: null, total_ms: 10, upstream_id: null },
};
