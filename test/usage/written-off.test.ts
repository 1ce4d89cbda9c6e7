/** Interrupted records of a suspended gateway: corrected once when it resumes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import type { Clock } from '../../src/core/clock.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { forEachStore, type TestStore } from '../store/stores.ts';
import { completion, intent, NOON } from './records.ts';

const HOUR = Math.floor(NOON / 3_600_000);
const ESTIMATE = { input: 100, cost: 40n };
const log = pino({ level: 'silent' });

/** A gateway whose intents `ids` were written off. */
async function standStill(store: TestStore, ids: readonly string[], clock?: Clock) {
  const recorder = createRecorder({ store, instance: 'still', durability: 'strict', log, clock });
  await Promise.all(ids.map((id) => recorder.begin(intent(id, { estimate: ESTIMATE }))));
  assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, ids.length);
  return recorder;
}

async function figures(store: TestStore) {
  const sums = await store.call('usageSums', { from: HOUR, to: HOUR + 1, by: ['provider'] });
  const spent = await store.call('spentBy', { subject: 'key-1', starts: [{ period: 'total', startsAt: 0 }] });
  return {
    sums: sums.map(({ provider, requests, failures, output_tokens, cost }) =>
      [provider, requests, failures, output_tokens, cost].join(' '),
    ),
    spent: spent.map((row) => String(row.spent)),
  };
}

forEachStore((name, open) => {
  test(`the reported usage replaces the estimate in the record, the sums and the budgets (${name})`, async (context) => {
    const store = await open(context);
    const recorder = await standStill(store, ['a', 'b', 'c']);
    assert.deepEqual(await figures(store), { sums: ['openai 3 0 0 120'], spent: ['120'] });
    const elsewhere = { endpoint: { provider: 'azure', model: 'gpt-5' }, cost: 7n };
    await Promise.all([
      recorder.finish(intent('a'), completion({ cost: 1000n })),
      recorder.finish(intent('b'), completion({ ...elsewhere, status: 'failed', usage: undefined })),
    ]);
    await recorder.flushed();
    assert.deepEqual(await figures(store), {
      sums: ['azure 1 1 0 7', 'openai 2 0 30 1040'],
      spent: ['1047'],
    });
    const record = await store.call('usageRecord', { id: 'a', keyId: 'key-1' });
    assert.deepEqual(
      [record?.status, record?.cost, record?.output_tokens, record?.upstream_id, record?.estimated],
      ['completed', '1000', 30, 'chatcmpl-1', 0],
    );
  });

  test(`a repeated correction counts once (${name})`, async (context) => {
    const store = await open(context);
    await standStill(store, ['a']);
    let lost = 2;
    const call = (async (operation: 'recordUsage', parameters: never) => {
      const result = await store.call(operation, parameters);
      if (lost-- > 0) {
        const { StoreUnavailable } = await import('../../src/store/unavailable.ts');
        throw new StoreUnavailable('the result is lost');
      }
      return result;
    }) as TestStore['call'];
    const clock = createManualClock(0);
    const recorder = createRecorder({ store: { call }, instance: 'still', durability: 'strict', log, clock });
    await recorder.finish(intent('a'), completion({ cost: 1000n }));
    const closed = recorder.close(3_600_000);
    while (lost >= 0) {
      clock.advance(1);
      await setImmediate();
    }
    await closed;
    assert.deepEqual(await figures(store), { sums: ['openai 1 0 30 1000'], spent: ['1000'] });
    // Whoever looks again for what the dead left finds nothing.
    assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, 0);
  });

  test(`the record of a request that was never sent is removed (${name})`, async (context) => {
    const store = await open(context);
    const clock = createManualClock(0);
    const recorder = await standStill(store, ['a', 'b'], clock);
    recorder.withdraw(intent('a'));
    while (await store.call('usageRecord', { id: 'a', keyId: 'key-1' })) {
      await recorder.flushed();
      await setImmediate();
    }
    // The other one never ends.
    const closed = recorder.close(10_000);
    clock.advance(10_000);
    await closed;
    assert.deepEqual(await figures(store), { sums: ['openai 1 0 0 40'], spent: ['40'] });
    assert.equal(await store.call('usageRecord', { id: 'a', keyId: 'key-1' }), undefined);
  });
});
