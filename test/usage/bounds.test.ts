/** Extreme amounts: saturating exact sums, and records that the store refuses. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import {
  boundUsage,
  hasOutputOrToolUse,
  MAX_RECORD_COST,
  MAX_RECORD_TOKENS,
  reportedCostOf,
} from '../../src/core/usage-bounds.ts';
import { createRecorder, type Recorder } from '../../src/usage/recorder.ts';
import { recoverInterrupted } from '../../src/usage/recovery.ts';
import { forEachStore, type TestStore } from '../store/stores.ts';
import { completion, intent, NOON } from './records.ts';

const HOUR = Math.floor(NOON / 3_600_000);
const MAX_INTEGER = 2n ** 63n - 1n;
const TOTAL = [{ period: 'total', startsAt: 0 }];
const log = pino({ level: 'silent' });

function recorderOn(store: TestStore, instance = 'one'): Recorder {
  return createRecorder({ store, instance, durability: 'strict', log });
}

async function spentOf(store: TestStore, keyId = 'key-1'): Promise<string | undefined> {
  const [row] = await store.call('spentBy', { subject: keyId, starts: TOTAL });
  return row && String(row.spent);
}

/** Adds to the sums as a record of any cost would. */
function addSpending(store: TestStore, id: string, cost: bigint): Promise<void> {
  const row = { id, started_at: NOON, key_id: 'key-1', model: 'm', endpoint_provider: 'p', endpoint_model: 'm' };
  const words = { protocol_in: 'videos', protocol_out: 'videos', status: 'completed' as const };
  const none = { stream: 0, error_code: null, finish: null, estimated: 0, attempts: 1, upstream_id: null };
  const counts = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0 };
  const more = { audio_tokens: 0, searches: 0, cost, first_byte_ms: null, total_ms: 1, revision: 0 };
  return store.call('recordTaskUsage', { row: { ...row, ...words, ...none, ...counts, ...more }, held: false });
}

const NO_COUNTS = [-1, Number.NaN, '7', null, {}];

test('counts and costs of an upstream are kept within bounds', () => {
  const usage = boundUsage({ input: 1e300, output: Number.POSITIVE_INFINITY, cached: 2.4, reportedCost: 9_000_000 });
  assert.deepEqual(usage, { input: MAX_RECORD_TOKENS, output: MAX_RECORD_TOKENS, cached: 2 });
  for (const odd of NO_COUNTS) {
    assert.deepEqual(boundUsage({ input: 5, output: odd as number, cached: odd as number }), { input: 5 });
    assert.equal(reportedCostOf({ reportedCost: odd as number }), odd === '7' ? 7_000_000_000_000n : undefined);
  }
  assert.equal(reportedCostOf({ reportedCost: 5000 }), MAX_RECORD_COST);
  assert.equal(reportedCostOf({ reportedCost: 5000.01 }), undefined);
  assert.equal(reportedCostOf({ reportedCost: 1e-7 }), 100_000n);
});

test('each count that is charged beside the input makes an answer one that is charged', () => {
  for (const name of ['output', 'searches', 'imageToolOutput', 'fileSearches', 'containers', 'mapRequests'])
    assert.deepEqual(
      [hasOutputOrToolUse({ [name]: 1 }), hasOutputOrToolUse({ input: 1, [name]: 0 })],
      [true, false],
      name,
    );
});

forEachStore((name, open) => {
  test(`sums saturate and are read exactly (${name})`, async (context) => {
    const store = await open(context);
    for (let index = 0; index < 3; index++) await addSpending(store, `t${index}`, 2n ** 62n);
    assert.equal(await spentOf(store), String(MAX_INTEGER));
    const recorder = recorderOn(store);
    const lying = { usage: { input: 1e300, output: 1e300, cached: -5 }, cost: 2n ** 80n };
    await recorder.begin(intent('lie', { keyId: 'key-2' }));
    await recorder.finish(intent('lie', { keyId: 'key-2' }), completion(lying));
    await recorder.flushed();
    assert.equal(await spentOf(store, 'key-2'), String(MAX_RECORD_COST));
    const [sum] = await store.call('usageSums', { from: HOUR, to: HOUR + 1, by: [] });
    assert.equal(sum?.cost, String(MAX_INTEGER + MAX_RECORD_COST));
    assert.equal(sum?.input_tokens, MAX_RECORD_TOKENS);
    const record = await store.call('usageRecord', { id: 'lie', keyId: 'key-2' });
    assert.deepEqual([record?.cost, record?.cached_tokens], [String(MAX_RECORD_COST), 0]);
    // The key with the saturated sum has spent everything, and its neighbour goes on.
    const budget = { period: 'total', startsAt: 0 } as const;
    const wish = { instance: 'one', limit: 10n, want: 5n };
    const full = await store.call('setHold', { name: 'a', ...wish, budget: { subject: 'key-1', ...budget } });
    assert.deepEqual(full, { granted: 0n, spent: MAX_INTEGER, others: 0n });
    const free = await store.call('setHold', { name: 'b', ...wish, budget: { subject: 'key-3', ...budget } });
    assert.equal(free.granted, 5n);
  });

  test(`what tasks may still cost is added up exactly, however much it is (${name})`, async (context) => {
    const store = await open(context);
    const hold = { keyId: 'key-1', tags: '', amount: MAX_INTEGER, createdAt: NOON };
    for (const taskId of ['one', 'two', 'three']) await store.call('holdForTask', { taskId, ...hold });
    const budget = { subject: 'key-1', period: 'total', startsAt: 0 } as const;
    const held = await store.call('setHold', { name: 'a', instance: 'one', limit: 10n, want: 5n, budget });
    assert.deepEqual(held, { granted: 0n, spent: 3n * MAX_INTEGER, others: 0n });
  });

  test(`a record that the store refuses is set aside, and the others go on (${name})`, async (context) => {
    const store = await open(context);
    const recorder = recorderOn(store);
    const ids = Array.from({ length: 20 }, (_, index) => `r${index}`);
    await Promise.all(ids.map((id) => recorder.begin(intent(id))));
    // No column takes it.
    const total = (id: string) => (id === 'r7' || id === 'r13' ? Number.NaN : 90);
    await Promise.all(ids.map((id) => recorder.finish(intent(id), completion({ total: total(id) }))));
    await recorder.flushed();
    assert.deepEqual([recorder.ready, recorder.refused, recorder.lost, recorder.waiting], [true, 2, 0, 0]);
    const [sum] = await store.call('usageSums', { from: HOUR, to: HOUR + 1, by: [] });
    assert.equal(sum?.requests, 18);
    const refused = await store.call('refusedUsage', { limit: 10 });
    assert.deepEqual(refused.map(({ id }) => id).sort(), ['r13', 'r7']);
    const { id, cost, key_id } = JSON.parse(String(refused[0]?.record));
    assert.deepEqual([ids.includes(id), cost, key_id], [true, '1500000000', 'key-1']);
    assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, 0, 'their intents are gone');
    const prune = () => store.call('pruneRefusedUsage', { before: Date.now() + 1, limit: 1 });
    assert.deepEqual([await prune(), await prune(), await prune()], [1, 1, 0]);
  });

  test(`an intent that the store refuses does not cost the record of its request (${name})`, async (context) => {
    const store = await open(context);
    const recorder = recorderOn(store);
    await Promise.all([recorder.begin(intent('odd', { startedAt: Number.NaN })), recorder.begin(intent('b'))]);
    await Promise.all(['odd', 'b'].map((id) => recorder.finish(intent(id), completion())));
    await recorder.flushed();
    const [sum] = await store.call('usageSums', { from: HOUR, to: HOUR + 1, by: [] });
    assert.deepEqual([sum?.requests, recorder.refused], [2, 0]);
  });

  test(`a poisoned intent of a dead gateway holds up nobody (${name})`, async (context) => {
    const store = await open(context);
    const recorder = recorderOn(store, 'dead');
    await Promise.all(['good', 'bad', 'fine'].map((id) => recorder.begin(intent(id))));
    const row = { id: 'poison', instance: 'dead', started_at: NOON, record: '{"id":"poison","cost":"x"}' };
    await store.call('recordUsage', { begun: [row], finished: [] });
    for (const _ of [1, 2]) await recoverInterrupted({ store: { ...store, now: () => NOON }, log });
    const [sum] = await store.call('usageSums', { from: HOUR, to: HOUR + 1, by: [] });
    assert.equal(sum?.requests, 3);
    assert.deepEqual(
      (await store.call('refusedUsage', { limit: 10 })).map(({ id }) => id),
      ['poison'],
    );
  });
});
