/** Holds of open tasks: they survive the death of gateways. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type AdmissionControl, createAdmissionControl } from '../../src/accounting/admission.ts';
import { moneyOf } from '../../src/core/money.ts';
import type { Key } from '../../src/keys/store.ts';
import { createLimitKeeper } from '../../src/limits/limits.ts';
import { createQuota, createReservationReader } from '../../src/limits/quota.ts';
import type { Store } from '../../src/store/store.ts';
import { forEachStore } from '../store/stores.ts';
import { NOON } from '../usage/records.ts';
import { UNSHARED } from './allotments.ts';

const key = { id: 'key-1', tags: '', settings: { budgets: { day: '1', total: '10' } } } as Key;

/** Accounts of a gateway that has just come up. */
async function gateway(store: Store, instance: string, now = NOON): Promise<AdmissionControl> {
  await store.call('heartbeat', { id: instance, now, until: now + 30_000, exclusive: store.engine === 'sqlite' });
  const limits = createLimitKeeper({
    quota: createQuota({ store, instance }),
    shared: () => UNSHARED,
    now: () => now,
  });
  return createAdmissionControl({
    recorder: undefined as never,
    limits,
    store,
    readOthers: createReservationReader({ store }),
    now: () => now,
  });
}

const task = (id: string, cost: string, createdAt = NOON) => ({
  id,
  model: 'up/video',
  createdAt,
  cost: moneyOf(cost),
});

forEachStore((name, open) => {
  test(`after a restart too (${name})`, async (context) => {
    const store = await open(context);
    const before = await gateway(store, 'one');
    await before.reserve(key, task('a', '0.4'));
    await before.reserve(key, task('b', '0.4'));
    await assert.rejects(before.reserve(key, task('c', '0.4')), { code: 'insufficient_quota' });
    // A new gateway that finds none alive gives the earlier ones another lifetime.
    await gateway(store, 'two', NOON + 31_000);
    await gateway(store, 'two', NOON + 50_000);
    const later = await gateway(store, 'two', NOON + 62_000);
    await assert.rejects(later.reserve(key, task('c', '0.4')), /1 USD a day; 0.2 USD are left/);
    await store.call('releaseTask', { id: 'a' });
    await later.reserve(key, task('c', '0.4'));
    await assert.rejects(later.reserve(key, task('d', '0.4')), { code: 'insufficient_quota' });
    const tomorrow = await gateway(store, 'three', NOON + 24 * 3_600_000);
    await tomorrow.reserve(key, task('d', '1', NOON + 24 * 3_600_000));
  });

  test(`of a budget that is set while they are open (${name})`, async (context) => {
    const admission = await gateway(await open(context), 'one');
    for (const id of ['a', 'b']) await admission.reserve({ ...key, settings: {} }, task(id, '0.4'));
    await assert.rejects(admission.reserve(key, task('c', '0.4')), /1 USD a day; 0.2 USD are left/);
    await admission.reserve(key, task('c', '0.2'));
  });

  test(`what is released may be used again (${name})`, async (context) => {
    const admission = await gateway(await open(context), 'one');
    for (const id of ['a', 'b', 'c']) {
      const { release } = await admission.reserve(key, task(id, '0.9'));
      await release();
    }
  });
});

/** A store that takes some time for each call. */
function slow(store: Store): Store {
  const call: Store['call'] = async (name, parameters) => {
    await pause(5);
    return store.call(name, parameters);
  };
  return { ...store, call };
}

const RICH = { id: 'key-1', tags: '', settings: { budgets: { total: '10000' } } } as Key;

forEachStore((name, open) => {
  test(`tasks that come faster than the store answers are not refused while a budget is left (${name})`, async (context) => {
    const admission = await gateway(slow(await open(context)), 'one');
    const asked: Promise<unknown>[] = [];
    for (let index = 0; index < 60; index++) {
      asked.push(admission.reserve(RICH, task(`t${index}`, '1')));
      await pause(2);
    }
    await Promise.all(asked);
  });

  test(`what was charged elsewhere while the store was asked counts for those that come later (${name})`, async (context) => {
    const store = await open(context);
    const admission = await gateway(slow(store), 'one');
    const first = admission.reserve(key, task('a', '0.4'));
    await store.call('holdForTask', { taskId: 'x', keyId: key.id, tags: '', amount: moneyOf('0.6'), createdAt: NOON });
    admission.taskCharged({ keyId: key.id, tags: '' });
    await first;
    await assert.rejects(admission.reserve(key, task('b', '0.4')), { code: 'insufficient_quota' });
  });
});
