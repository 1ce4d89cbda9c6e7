/** Limits and budgets of keys, by one gateway and by three that share a database. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { GatewayError } from '../../src/core/errors.ts';
import { moneyOf } from '../../src/core/money.ts';
import type { LimitKeeper } from '../../src/limits/limit-keeper.ts';
import { createLimitKeeper } from '../../src/limits/limits.ts';
import { createQuota } from '../../src/limits/quota.ts';
import type { KeySettings } from '../../src/records/key-settings.ts';
import type { Store } from '../../src/store/store.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { forEachStore, openTestPostgres, openTestSqlite } from '../store/stores.ts';
import { completion, intent, NOON } from '../usage/records.ts';
import { UNSHARED } from './allotments.ts';

const MODEL = 'openai/gpt-5';
const NOTHING = { tokens: 0, cost: 0n };

interface Time {
  now: number;
}

function keeperOn(store: Store, time: Time, instance = 'one'): LimitKeeper {
  return createLimitKeeper({ quota: createQuota({ store, instance }), shared: () => UNSHARED, now: () => time.now });
}

function wish(settings: KeySettings, { tokens = 0, cost = '0', model = MODEL } = {}) {
  return { key: { id: 'key-1', settings }, model, tokens, cost: moneyOf(cost) };
}

async function refusal(promise: unknown): Promise<GatewayError> {
  const error = await Promise.resolve(promise).then(
    () => assert.fail('it was admitted'),
    (thrown) => thrown,
  );
  assert.ok(error instanceof GatewayError, String(error));
  return error;
}

/** Writes down what a request cost, as the recorder does before it is settled. */
async function spend(store: Store, cost: bigint, startedAt: number): Promise<void> {
  const recorder = createRecorder({
    store,
    instance: `x-${Math.random()}`,
    durability: 'strict',
    log: pino({ level: 'silent' }),
  });
  const request = intent(`${Math.random()}`, { startedAt });
  await recorder.begin(request);
  await recorder.finish(request, completion({ cost }));
  await recorder.flushed();
}

describe('one gateway', () => {
  test('counts on while its clock ticks', async (context) => {
    let moment = NOON;
    const quota = createQuota({ store: await openTestSqlite(context), instance: 'one' });
    const keeper = createLimitKeeper({ quota, shared: () => UNSHARED, now: () => moment++ });
    const settings = { limits: { requestsPerMinute: 5 } };
    for (let count = 0; count < 5; count++) await keeper.admit(wish(settings));
    assert.equal((await refusal(keeper.admit(wish(settings)))).code, 'rate_limit_exceeded');
  });

  test('takes anew what its running requests hold, where the store has forgotten it', async (context) => {
    const store = await openTestSqlite(context);
    const keeper = keeperOn(store, { now: NOON });
    const settings = { budgets: { total: '10' } };
    const running = await keeper.admit(wish(settings, { cost: '3' }));
    const others = async () => {
      const asked = { name: 'key-1 total 0', instance: 'two', limit: moneyOf('10'), want: 0n };
      return (await store.call('setHold', asked)).others;
    };
    assert.equal(await others(), moneyOf('10'), 'one that is alone takes all');
    await store.call('removeInstance', { id: 'one' });
    assert.equal(await others(), 0n);
    await keeper.renewHolds();
    assert.equal(await others(), moneyOf('3'));
    running.settle(NOTHING);
    await keeper.renewHolds();
    assert.equal(await others(), 0n);
    await keeper.admit(wish(settings, { cost: '10' }));
  });

  test('keeps nothing of budgets whose period is over', async (context) => {
    const time = { now: NOON };
    const keeper = keeperOn(await openTestSqlite(context), time);
    const settings = { budgets: { day: '1', month: '5', total: '10' } };
    for (let day = 0; day < 3; day++) {
      (await keeper.admit(wish(settings, { cost: '0.1' }))).settle(NOTHING);
      assert.equal(keeper.size, 3);
      time.now += 86_400_000;
      keeper.forgetEnded();
      assert.equal(keeper.size, 2);
    }
  });

  test('keeps nothing of minutes that are over, whatever models were named', async (context) => {
    const time = { now: NOON };
    const keeper = keeperOn(await openTestSqlite(context), time);
    const settings = { modelLimits: { 'openai/*': { requestsPerMinute: 1 } } };
    for (const name of ['a', 'b', 'c']) await keeper.admit(wish(settings, { model: `openai/${name}` }));
    keeper.forgetEnded();
    assert.equal(keeper.size, 3);
    assert.equal((await refusal(keeper.admit(wish(settings, { model: 'openai/a' })))).code, 'rate_limit_exceeded');
    time.now += 180_000;
    await keeper.admit(wish(settings, { model: 'openai/a' }));
    keeper.forgetEnded();
    assert.equal(keeper.size, 1);
  });

  test('keeps nothing of models that nothing uses, and counts what runs', async (context) => {
    const keeper = keeperOn(await openTestSqlite(context), { now: NOON });
    const settings = { modelLimits: { '*': { concurrentRequests: 1 } } };
    const named = (name: string) => keeper.admit(wish(settings, { model: `any/${name}` }));
    const running = await named('running');
    for (let count = 0; count < 20; count++) (await named(`invented-${count}`)).settle(NOTHING);
    await keeper.forgetIdleSlots();
    await keeper.forgetIdleSlots();
    assert.equal(keeper.size, 1);
    assert.equal((await refusal(named('running'))).code, 'rate_limit_exceeded');
    running.settle(NOTHING);
    const [one, ...others] = await Promise.all([named('invented-0'), refusal(named('invented-0'))]);
    assert.equal(others[0]?.code, 'rate_limit_exceeded');
    one?.settle(NOTHING);
  });

  test('counts requests by the minute and says when the next begins', async (context) => {
    const time = { now: NOON + 20_000 };
    const keeper = keeperOn(await openTestSqlite(context), time);
    const settings = { limits: { requestsPerMinute: 2 } };
    const first = await keeper.admit(wish(settings));
    assert.deepEqual(first.headers, {
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': '40s',
    });
    await keeper.admit(wish(settings));
    const error = await refusal(keeper.admit(wish(settings)));
    assert.equal(error.code, 'rate_limit_exceeded');
    assert.equal(error.retryAfter, 40_000);
    assert.match(error.message, /2 requests a minute/);
    time.now += 40_000;
    await keeper.admit(wish(settings));
  });

  test('reserves tokens as estimated and settles them as used', async (context) => {
    const keeper = keeperOn(await openTestSqlite(context), { now: NOON });
    const settings = { limits: { tokensPerMinute: 100 } };
    const first = await keeper.admit(wish(settings, { tokens: 80 }));
    assert.equal((await refusal(keeper.admit(wish(settings, { tokens: 30 })))).code, 'rate_limit_exceeded');
    first.settle({ tokens: 10, cost: 0n });
    const second = await keeper.admit(wish(settings, { tokens: 30 }));
    assert.equal(second.headers['x-ratelimit-remaining-tokens'], '60');
  });

  test('lets what is larger than the limit pass alone', async (context) => {
    const time = { now: NOON };
    const keeper = keeperOn(await openTestSqlite(context), time);
    const settings = { limits: { tokensPerMinute: 100 } };
    await keeper.admit(wish(settings, { tokens: 5000 }));
    await refusal(keeper.admit(wish(settings, { tokens: 1 })));
  });

  test('bounds requests at once', async (context) => {
    const keeper = keeperOn(await openTestSqlite(context), { now: NOON });
    const { key } = wish({ limits: { concurrentRequests: 2 } });
    const [release] = await Promise.all([keeper.enter(key), keeper.enter(key)]);
    assert.match((await refusal(keeper.enter(key))).message, /2 requests at once/);
    release();
    release();
    await keeper.enter(key);
    await refusal(keeper.enter(key));
  });

  test('bounds requests at once of a model', async (context) => {
    const keeper = keeperOn(await openTestSqlite(context), { now: NOON });
    const settings = { modelLimits: { 'openai/*': { concurrentRequests: 2 } } };
    const [first] = await Promise.all([keeper.admit(wish(settings)), keeper.admit(wish(settings))]);
    assert.match(
      (await refusal(keeper.admit(wish(settings)))).message,
      /with openai.gpt-5 may make 2 requests at once/,
    );
    first.settle(NOTHING);
    first.settle(NOTHING);
    await keeper.admit(wish(settings));
    await refusal(keeper.admit(wish(settings)));
  });

  test('limits each model that a glob meets beside the key', async (context) => {
    const keeper = keeperOn(await openTestSqlite(context), { now: NOON });
    const settings = { limits: { requestsPerMinute: 10 }, modelLimits: { 'openai/*': { requestsPerMinute: 1 } } };
    await keeper.admit(wish(settings));
    assert.match((await refusal(keeper.admit(wish(settings)))).message, /with openai\/gpt-5/);
    await keeper.admit(wish(settings, { model: 'openai/gpt-5-mini' }));
    const free = await keeper.admit(wish(settings, { model: 'sandbox/echo' }));
    // The refused one gave back what it took of the key's own.
    assert.equal(free.headers['x-ratelimit-remaining-requests'], '7');
  });

  test('has no headers where nothing is limited', async (context) => {
    const keeper = keeperOn(await openTestSqlite(context), { now: NOON });
    assert.deepEqual((await keeper.admit(wish({}))).headers, {});
  });
});

forEachStore((name, open) => {
  test(`a budget reserves what a request may cost and keeps what it did (${name})`, async (context) => {
    const store = await open(context);
    const time = { now: NOON };
    const keeper = keeperOn(store, time);
    const settings = { budgets: { day: '1.00' } };
    const first = await keeper.admit(wish(settings, { cost: '0.6' }));
    const error = await refusal(keeper.admit(wish(settings, { cost: '0.6' })));
    assert.equal(error.code, 'insufficient_quota');
    assert.match(error.message, /1\.00 USD a day; 0\.4 USD are left/);
    await spend(store, moneyOf('0.1'), time.now);
    first.settle({ tokens: 0, cost: moneyOf('0.1') });
    await keeper.admit(wish(settings, { cost: '0.9' }));
    await refusal(keeper.admit(wish(settings, { cost: '0.01' })));
    time.now += 24 * 3600 * 1000;
    await keeper.admit(wish(settings, { cost: '1' }));
  });

  test(`a budget knows what was spent before the start (${name})`, async (context) => {
    const store = await open(context);
    await spend(store, moneyOf('9.5'), NOON);
    const keeper = keeperOn(store, { now: NOON });
    await refusal(keeper.admit(wish({ budgets: { month: '10' } }, { cost: '0.6' })));
    await keeper.admit(wish({ budgets: { month: '10' } }, { cost: '0.5' }));
    await keeper.admit(wish({ budgets: { month: '20' } }, { cost: '5' }));
  });
});

describe('three gateways on one database', () => {
  async function three(context: Parameters<typeof openTestPostgres>[0], time: Time) {
    const store = await openTestPostgres(context);
    const stores = [store, await store.beside(), await store.beside()];
    const names = ['one', 'two', 'three'];
    for (const id of names)
      await store.call('heartbeat', { id, now: time.now, until: time.now + 30_000, exclusive: false });
    return { store, keepers: stores.map((one, index) => keeperOn(one, time, names[index])) };
  }

  /** How many of so many requests, spread over the gateways, are admitted. */
  async function admitted(keepers: LimitKeeper[], count: number, ask: ReturnType<typeof wish>) {
    const answers = await Promise.allSettled(
      Array.from({ length: count }, (_, index) => (keepers[index % keepers.length] as LimitKeeper).admit(ask)),
    );
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  test('admit as many requests a minute as one', async (context) => {
    const { keepers } = await three(context, { now: NOON });
    const settings = { limits: { requestsPerMinute: 60 } };
    assert.equal((await admitted(keepers, 200, wish(settings))).length, 60);
  });

  test('have as many requests at once as one, and pass them on', async (context) => {
    const { keepers } = await three(context, { now: NOON });
    const { key } = wish({ limits: { concurrentRequests: 4 } });
    const answers = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => (keepers[index % keepers.length] as LimitKeeper).enter(key)),
    );
    const under = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    assert.ok(under.length <= 4 && under.length > 0, `${under.length}`);
    for (const release of under) release();
    // Those that rest give back what they hold.
    for (const keeper of keepers) await keeper.releaseIdle();
    for (const keeper of keepers) await keeper.releaseIdle();
    const [last] = keepers.slice(-1);
    for (let index = 0; index < 4; index += 1) await last?.enter(key);
  });

  test('spend a budget once', async (context) => {
    const time = { now: NOON };
    const { store, keepers } = await three(context, time);
    const settings = { budgets: { total: '1' } };
    let spent = 0n;
    for (let round = 0; round < 20; round += 1) {
      const under = await admitted(keepers, 9, wish(settings, { cost: '0.05' }));
      for (const one of under) {
        await spend(store, moneyOf('0.03'), time.now);
        spent += moneyOf('0.03');
        one.settle({ tokens: 0, cost: moneyOf('0.03') });
      }
      for (const keeper of keepers) await keeper.releaseIdle();
    }
    assert.ok(spent <= moneyOf('1'), `${spent}`);
    assert.ok(spent >= moneyOf('0.9'), `${spent}`);
  });

  test('get back what a dead one held', async (context) => {
    const time = { now: NOON };
    const { store, keepers } = await three(context, time);
    const settings = { budgets: { total: '1' } };
    const [dead, alive] = keepers as [LimitKeeper, LimitKeeper];
    await dead.admit(wish(settings, { cost: '0.8' }));
    await refusal(alive.admit(wish(settings, { cost: '0.5' })));
    for (let beat = 0; beat < 3; beat++) {
      time.now += 20_000;
      await store.call('heartbeat', { id: 'two', now: time.now, until: time.now + 30_000, exclusive: false });
    }
    await alive.admit(wish(settings, { cost: '0.5' }));
  });
});
