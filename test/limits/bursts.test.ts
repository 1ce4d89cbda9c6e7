/** Bursts within a limit: no request is refused, on either store engine. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { moneyOf } from '../../src/core/money.ts';
import type { Admission, LimitKeeper } from '../../src/limits/limit-keeper.ts';
import { createLimitKeeper } from '../../src/limits/limits.ts';
import { createMinuteWindow } from '../../src/limits/minute-window.ts';
import { createQuota, type Quota } from '../../src/limits/quota.ts';
import { createReservationPool } from '../../src/limits/reservation-pool.ts';
import type { KeySettings } from '../../src/records/key-settings.ts';
import type { Store } from '../../src/store/store.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { forEachStore } from '../store/stores.ts';
import { completion, intent, NOON } from '../usage/records.ts';
import { UNSHARED } from './allotments.ts';

async function keeperOn(store: Store, instance = 'one'): Promise<LimitKeeper> {
  await store.call('heartbeat', {
    id: instance,
    now: NOON,
    until: NOON + 30_000,
    exclusive: store.engine === 'sqlite',
  });
  return createLimitKeeper({ quota: createQuota({ store, instance }), shared: () => UNSHARED, now: () => NOON });
}

function wish(settings: KeySettings, { tokens = 0, cost = '0' } = {}) {
  return { key: { id: 'key-1', settings }, model: 'openai/gpt-5', tokens, cost: moneyOf(cost) };
}

async function spend(store: Store, cost: bigint): Promise<void> {
  const recorder = createRecorder({
    store,
    instance: `x-${Math.random()}`,
    durability: 'strict',
    log: pino({ level: 'silent' }),
  });
  const request = intent(`${Math.random()}`, { startedAt: NOON });
  await recorder.begin(request);
  await recorder.finish(request, completion({ cost }));
  await recorder.flushed();
}

/** Codes of the errors of those that are refused. */
async function refusals(asked: readonly unknown[]): Promise<string[]> {
  const answers = await Promise.allSettled(asked);
  return answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.code ?? answer.reason] : []));
}

function times<Made>(count: number, make: (index: number) => Made): Made[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

forEachStore((name, open) => {
  test(`of requests that come one after another each gets half of the rest, whatever the store takes (${name})`, async (context) => {
    const store = await open(context);
    await keeperOn(store);
    const call: Store['call'] = async (operation, parameters) => {
      await pause(5);
      return store.call(operation, parameters);
    };
    const keeper = await keeperOn({ ...store, call });
    const asked = { ...wish({ budgets: { total: '16' } }, { cost: '100' }), minCost: moneyOf('0.5') };
    const admissions: Promise<Admission>[] = [];
    for (let index = 0; index < 6; index++) {
      admissions.push(Promise.resolve(keeper.admit(asked)));
      await pause(2);
    }
    assert.deepEqual(await refusals(admissions.slice(5)), []);
    const shares = (await Promise.all(admissions)).map(({ cost }) => cost);
    assert.deepEqual(
      shares,
      ['8', '4', '2', '1', '0.5', '0.5'].map((share) => moneyOf(share)),
    );
    assert.deepEqual(await refusals([keeper.admit(asked)]), ['insufficient_quota']);
  });

  test(`60 at once where 100 are allowed (${name})`, async (context) => {
    const keeper = await keeperOn(await open(context));
    const { key } = wish({ limits: { concurrentRequests: 100 } });
    assert.deepEqual(await refusals(times(60, () => keeper.enter(key))), []);
    assert.deepEqual(await refusals(times(40, () => keeper.enter(key))), []);
    assert.deepEqual(
      await refusals(times(5, () => keeper.enter(key))),
      times(5, () => 'rate_limit_exceeded'),
    );
  });

  test(`100 that fit into what a budget has left (${name})`, async (context) => {
    const store = await open(context);
    await spend(store, moneyOf('1.02'));
    const keeper = await keeperOn(store);
    const settings = { budgets: { total: '10.00' } };
    assert.deepEqual(await refusals(times(100, () => keeper.admit(wish(settings, { cost: '0.0898' })))), []);
    assert.deepEqual(await refusals([keeper.admit(wish(settings, { cost: '0.01' }))]), ['insufficient_quota']);
  });

  test(`100 that end and are recorded amid the burst (${name})`, async (context) => {
    const store = await open(context);
    await spend(store, moneyOf('1.02'));
    const keeper = await keeperOn(store);
    const settings = { budgets: { total: '10.00' } };
    const cost = moneyOf('0.05');
    const one = async (index: number): Promise<Admission> => {
      await pause(index % 20);
      const admission = await keeper.admit(wish(settings, { cost: '0.0898' }));
      await spend(store, cost);
      admission.settle({ tokens: 0, cost });
      return admission;
    };
    assert.deepEqual(await refusals(times(100, one)), []);
    // 8.98 - 5.00 are left, to the cent.
    assert.deepEqual(await refusals([keeper.admit(wish(settings, { cost: '3.9801' }))]), ['insufficient_quota']);
    assert.deepEqual(await refusals([keeper.admit(wish(settings, { cost: '3.98' }))]), []);
  });

  test(`60 whose tokens fit into the minute, of different sizes (${name})`, async (context) => {
    const keeper = await keeperOn(await open(context));
    const settings = { limits: { tokensPerMinute: 60_000, requestsPerMinute: 60 } };
    const sizes = (index: number) => (index % 3) * 1000;
    assert.deepEqual(await refusals(times(60, (index) => keeper.admit(wish(settings, { tokens: sizes(index) })))), []);
    assert.deepEqual(await refusals([keeper.admit(wish(settings))]), ['rate_limit_exceeded']);
  });

  test(`those that wait are served in their order (${name})`, async (context) => {
    const keeper = await keeperOn(await open(context));
    const { key } = wish({ limits: { concurrentRequests: 7 } });
    const answers = await Promise.allSettled(times(20, () => keeper.enter(key)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      times(20, (index) => (index < 7 ? 'fulfilled' : 'rejected')),
    );
    for (const answer of answers) if (answer.status === 'fulfilled') answer.value();
    assert.deepEqual(await refusals(times(7, () => keeper.enter(key))), []);
  });
});

forEachStore((name, open) => {
  test(`a store that stalls refuses in time, and what it held all the same is released (${name})`, async (context) => {
    const store = await open(context);
    await keeperOn(store);
    const clock = createManualClock(NOON);
    let isLate = true;
    const late: Promise<unknown>[] = [];
    const call: Store['call'] = (operation, parameters) => {
      const answer = store.call(operation, parameters);
      if (!isLate) return answer;
      late.push(answer);
      return new Promise(() => {});
    };
    const slow = { engine: store.engine, call };
    const quota = createQuota({ store: slow, instance: 'one', shared: true, clock });
    const slots = createReservationPool({ heldLimit: { name: 'x', limit: 10n }, quota, slice: 5n });
    const minute = createMinuteWindow({ name: 'x', quota, now: () => NOON });
    const refused = [slots.admit(1n), minute.admit(1, 10)];
    clock.advance(5_000);
    assert.deepEqual(await refusals(refused), ['unavailable', 'unavailable']);
    await Promise.all(late);
    isLate = false;
    const others = async () => {
      const other = { name: 'x', instance: 'two', limit: 10n, want: 0n };
      return (await store.call('setHold', other)).others;
    };
    assert.equal(await others(), 6n);
    assert.equal(slots.isEmpty, false);
    await slots.releaseIdle();
    await slots.releaseIdle();
    assert.equal(await others(), 0n);
    assert.ok(slots.isEmpty);
    assert.ok(await slots.admit(10n));
    assert.equal(await minute.admit(1, 10), true);
  });
});

/** A store whose answers come when the test says so. */
function slowQuota(): { quota: Quota; answers: ((granted: bigint) => void)[] } {
  const answers: ((granted: bigint) => void)[] = [];
  const hold: Quota['hold'] = () =>
    new Promise((resolve) => answers.push((granted) => resolve({ granted, spent: 0n, others: 0n })));
  return { answers, quota: { slice: () => 1, hold, take: () => assert.fail('not asked') } };
}

test('what is spent while the store is asked is not available once more', async () => {
  const { quota, answers } = slowQuota();
  const money = createReservationPool({ heldLimit: { name: 'x', limit: 10n }, quota, slice: 0n });
  const first = money.admit(6n);
  answers.shift()?.(6n);
  const reservation = await first;
  const second = money.admit(4n);
  // The store has granted 10 before the 6 were recorded.
  reservation?.settle(6n);
  answers.shift()?.(10n);
  assert.ok(await second);
  assert.equal(money.left, 0n);
});

test('an answer that is outdated refuses nobody', async () => {
  const { quota, answers } = slowQuota();
  const money = createReservationPool({ heldLimit: { name: 'x', limit: 10n }, quota, slice: 0n });
  const first = money.admit(6n);
  answers.shift()?.(6n);
  const reservation = await first;
  const second = money.admit(7n);
  reservation?.settle(2n);
  // It counts the 2 already.
  answers.shift()?.(8n);
  await pause(0);
  answers.shift()?.(7n);
  assert.ok(await second);
});

test('an answer of the minute before refuses nobody', async () => {
  let now = 59_999;
  const asked: number[] = [];
  const take: Quota['take'] = async ({ at }, want) => {
    asked.push(at);
    now = 60_001;
    return { granted: want, taken: want };
  };
  const quota: Quota = { slice: () => 1, take, hold: () => assert.fail('not asked') };
  const minute = createMinuteWindow({ name: 'x', quota, now: () => now });
  assert.equal(await minute.admit(5, 10), true);
  assert.deepEqual(asked, [0, 60_000]);
});

test('a store that cannot be asked fails those that wait, and nobody after them', async () => {
  let away = true;
  const hold: Quota['hold'] = async (_holding, want) => {
    if (away) throw new Error('away');
    return { granted: want, spent: 0n, others: 0n };
  };
  const quota: Quota = { slice: () => 1, hold, take: () => assert.fail('not asked') };
  const slots = createReservationPool({ heldLimit: { name: 'x', limit: 10n }, quota, slice: 0n });
  const results = await Promise.allSettled(times(3, () => slots.admit(1n)));
  assert.deepEqual(
    results.map(({ status }) => status),
    times(3, () => 'rejected'),
  );
  away = false;
  assert.ok(await slots.admit(10n));
});
