/** Limits and budgets of tags: all keys with a tag share them, over gateways and deaths. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { createAdmissionControl } from '../../src/accounting/admission.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { moneyOf } from '../../src/core/money.ts';
import type { Key } from '../../src/keys/store.ts';
import type { LimitKeeper } from '../../src/limits/limit-keeper.ts';
import { createLimitKeeper } from '../../src/limits/limits.ts';
import { createQuota, createReservationReader } from '../../src/limits/quota.ts';
import type { Allotment, KeySettings, SharedAllotments } from '../../src/records/key-settings.ts';
import { tagText } from '../../src/records/tags.ts';
import type { Store } from '../../src/store/store.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { forEachStore, openTestPostgres, openTestSqlite } from '../store/stores.ts';
import { completion, intent, NOON } from '../usage/records.ts';

const MODEL = 'openai/gpt-5';
const TEAM = 'team=search';
const log = pino({ level: 'silent' });

interface Place {
  store: Store;
  instance?: string;
  now?: number;
  defaults?: Allotment;
}

function keeperOf(allotment: Allotment, { store, instance = 'one', now = NOON, defaults = {} }: Place): LimitKeeper {
  const shared: SharedAllotments = { keyDefaults: defaults, tags: new Map([[TEAM, allotment]]) };
  return createLimitKeeper({ quota: createQuota({ store, instance }), shared: () => shared, now: () => now });
}

function keyOf(id: string, settings: KeySettings = {}): { id: string; settings: KeySettings } {
  return { id, settings: { tags: { env: 'prod', team: 'search' }, ...settings } };
}

function wish(key: ReturnType<typeof keyOf>, { tokens = 0, cost = '0' } = {}) {
  return { key, model: MODEL, tokens, cost: moneyOf(cost) };
}

async function refusal(promise: unknown): Promise<GatewayError> {
  const error = await Promise.resolve(promise).then(
    () => assert.fail('it was admitted'),
    (thrown) => thrown,
  );
  assert.ok(error instanceof GatewayError, String(error));
  return error;
}

/** Records what a request of a key with the tag cost. */
async function spend(store: Store, keyId: string, cost: bigint): Promise<void> {
  const recorder = createRecorder({ store, instance: `x-${Math.random()}`, durability: 'strict', log });
  const request = intent(`${Math.random()}`, { keyId, tags: tagText(keyOf(keyId).settings.tags) });
  await recorder.begin(request);
  await recorder.finish(request, completion({ cost }));
  await recorder.flushed();
}

describe('limits of a tag', () => {
  test('by the minute are shared by its keys, and headers show the tightest', async (context) => {
    const keeper = keeperOf(
      { limits: { requestsPerMinute: 3, tokensPerMinute: 100 } },
      { store: await openTestSqlite(context) },
    );
    const one = keyOf('key-1', { limits: { requestsPerMinute: 2 } });
    const { headers } = await keeper.admit(wish(one, { tokens: 40 }));
    assert.equal(headers['x-ratelimit-remaining-requests'], '1');
    assert.equal(headers['x-ratelimit-limit-requests'], '2');
    const tokens = await refusal(keeper.admit(wish(keyOf('key-2'), { tokens: 70 })));
    assert.equal(tokens.code, 'rate_limit_exceeded');
    assert.match(tokens.message, /^Keys with the tag team=search may use 100 tokens a minute, of which 60 are left/);
    await keeper.admit(wish(keyOf('key-2')));
    await keeper.admit(wish(keyOf('key-3')));
    const requests = await refusal(keeper.admit(wish(keyOf('key-4'))));
    assert.match(requests.message, /^Keys with the tag team=search may use 3 requests a minute, of which 0 are left/);
    assert.equal(keeper.rateLimitHeaders(one, MODEL)['x-ratelimit-remaining-requests'], '0');
    await keeper.admit(wish({ id: 'key-5', settings: { tags: { team: 'ads' } } }));
    assert.deepEqual(keeper.rateLimitHeaders({ id: 'key-6', settings: {} }, MODEL), {});
  });

  test('on requests at once are shared, and a refusal takes no place of the key', async (context) => {
    const keeper = keeperOf({ limits: { concurrentRequests: 2 } }, { store: await openTestSqlite(context) });
    const one = keyOf('key-1', { limits: { concurrentRequests: 1 } });
    const [first, second] = [await keeper.enter(keyOf('key-2')), await keeper.enter(keyOf('key-3'))];
    for (let count = 0; count < 3; count += 1) {
      const { message } = await refusal(keeper.enter(one));
      assert.equal(message, 'Keys with the tag team=search may make 2 requests at once, and as many are running.');
    }
    first();
    const own = await keeper.enter(one);
    assert.match((await refusal(keeper.enter(one))).message, /^This key may make 1 requests at once/);
    own();
    second();
    await keeper.enter(keyOf('key-2'));
    await keeper.enter(keyOf('key-2'));
  });
});

describe('defaults of keys', () => {
  test('apply where a key does not say otherwise, to each key by itself', async (context) => {
    const defaults = { limits: { requestsPerMinute: 1 }, budgets: { day: '1' } };
    const keeper = keeperOf({}, { store: await openTestSqlite(context), defaults });
    for (const id of ['key-1', 'key-2']) {
      await keeper.admit(wish(keyOf(id), { cost: '1' }));
      assert.match((await refusal(keeper.admit(wish(keyOf(id))))).message, /^This key may use 1 requests a minute/);
    }
    const own = keyOf('key-3', { limits: { requestsPerMinute: 9 }, budgets: { day: '2' } });
    await keeper.admit(wish(own, { cost: '1' }));
    await keeper.admit(wish(own, { cost: '1' }));
    assert.match(
      (await refusal(keeper.admit(wish(own, { cost: '1' })))).message,
      /^This key may spend 2 USD a day; 0 USD/,
    );
    assert.ok(keeper.hasBudget({ id: 'key-4', settings: {} }));
  });
});

forEachStore((name, open) => {
  test(`a budget of a tag reserves for its keys together, and refuses with nothing taken from theirs (${name})`, async (context) => {
    const store = await open(context);
    const keeper = keeperOf({ budgets: { day: '1.00' } }, { store });
    const poor = keyOf('key-1', { budgets: { day: '0.60' } });
    const first = await keeper.admit(wish(keyOf('key-2'), { cost: '0.6' }));
    for (let count = 0; count < 3; count += 1) {
      const error = await refusal(keeper.admit(wish(poor, { cost: '0.5' })));
      assert.equal(error.code, 'insufficient_quota');
      assert.equal(
        error.message,
        'Keys with the tag team=search may spend 1.00 USD a day; 0.4 USD are left until 2026-11-19T00:00:00.000Z, and this request may cost 0.5 USD.',
      );
    }
    await spend(store, 'key-2', moneyOf('0.1'));
    first.settle({ tokens: 0, cost: moneyOf('0.1') });
    await keeper.admit(wish(poor, { cost: '0.5' }));
    assert.match(
      (await refusal(keeper.admit(wish(poor, { cost: '0.2' })))).message,
      /^This key may spend 0\.60 USD a day; 0\.1 USD/,
    );
    await keeper.admit(wish(keyOf('key-3'), { cost: '0.4' }));
  });

  test(`a budget of a tag knows after a start what all of its keys spent (${name})`, async (context) => {
    const store = await open(context);
    await spend(store, 'key-1', moneyOf('6'));
    await spend(store, 'key-2', moneyOf('3.5'));
    const keeper = keeperOf({ budgets: { month: '10', total: '20' } }, { store });
    await refusal(keeper.admit(wish(keyOf('key-3'), { cost: '0.6' })));
    await keeper.admit(wish(keyOf('key-3'), { cost: '0.5' }));
    const [use] = await store.call('budgetUse', {
      subject: `tag:${TEAM}`,
      periods: [{ period: 'total', startsAt: 0 }],
    });
    assert.deepEqual(use, {
      period: 'total',
      spent: moneyOf('9.5'),
      estimated: 0n,
      videos: 0n,
      unpriced: 0n,
      held: 0n,
    });
  });

  test(`what a killed gateway left open counts for the tag (${name})`, async (context) => {
    const store = await open(context);
    const recorder = createRecorder({ store, instance: 'dead', durability: 'strict', log });
    const tags = tagText(keyOf('key-1').settings.tags);
    await recorder.begin(intent('a', { tags, estimate: { input: 1, cost: moneyOf('0.7') } }));
    assert.equal((await store.call('recoverUsage', { now: NOON })).recovered, 1);
    const keeper = keeperOf({ budgets: { day: '1' } }, { store });
    assert.match((await refusal(keeper.admit(wish(keyOf('key-2'), { cost: '0.4' })))).message, /0\.3 USD are left/);
    // The gateway was only suspended: what it reports replaces the estimate.
    await recorder.finish(intent('a', { tags }), completion({ cost: moneyOf('0.2') }));
    await recorder.flushed();
    await keeper.admit(wish(keyOf('key-2'), { cost: '0.4' }));
  });

  test(`open tasks are held from the budgets of their tags, over a restart (${name})`, async (context) => {
    const store = await open(context);
    const key = (id: string) => ({ ...keyOf(id), tags: tagText(keyOf(id).settings.tags) }) as Key;
    const task = (id: string, cost: string) => ({ id, model: 'up/video', createdAt: NOON, cost: moneyOf(cost) });
    async function gateway(instance: string) {
      await store.call('heartbeat', { id: instance, now: NOON, until: NOON + 30_000, exclusive: true });
      const limits = keeperOf({ budgets: { day: '1' } }, { store, instance });
      return createAdmissionControl({
        recorder: undefined as never,
        limits,
        store,
        readOthers: createReservationReader({ store }),
        now: () => NOON,
      });
    }
    const before = await gateway('one');
    await before.reserve(key('key-1'), task('a', '0.4'));
    await before.reserve(key('key-2'), task('b', '0.4'));
    await assert.rejects(before.reserve(key('key-3'), task('c', '0.4')), { code: 'insufficient_quota' });
    const later = await gateway('two');
    await assert.rejects(
      later.reserve(key('key-3'), task('c', '0.4')),
      /team=search may spend 1 USD a day; 0\.2 USD are left/,
    );
    await store.call('releaseTask', { id: 'a' });
    await later.reserve(key('key-3'), task('c', '0.4'));
    await assert.rejects(later.reserve(key('key-1'), task('d', '0.4')), { code: 'insufficient_quota' });
  });

  test(`concurrent requests of many keys spend the budget of a tag once (${name})`, async (context) => {
    const store = await open(context);
    const keeper = keeperOf({ budgets: { total: '1' } }, { store });
    let spent = 0n;
    for (let round = 0; round < 20; round += 1) {
      const asked = Array.from({ length: 12 }, async (_, index) => {
        const id = `key-${index % 4}`;
        const own = keyOf(id, index % 2 === 0 ? { budgets: { day: '5' } } : {});
        const { settle } = await keeper.admit(wish(own, { cost: '0.1' }));
        await spend(store, id, moneyOf('0.02'));
        spent += moneyOf('0.02');
        settle({ tokens: 0, cost: moneyOf('0.02') });
      });
      for (const answer of await Promise.allSettled(asked)) {
        if (answer.status === 'rejected') assert.equal(answer.reason.code, 'insufficient_quota');
      }
    }
    assert.ok(spent <= moneyOf('1') && spent >= moneyOf('0.9'), String(spent));
    const [use] = await store.call('budgetUse', {
      subject: `tag:${TEAM}`,
      periods: [{ period: 'total', startsAt: 0 }],
    });
    assert.equal(use?.spent, spent);
  });
});

describe('three gateways on one database', () => {
  async function three(context: Parameters<typeof openTestPostgres>[0], allotment: Allotment) {
    const store = await openTestPostgres(context);
    const stores = [store, await store.beside(), await store.beside()];
    const names = ['one', 'two', 'three'];
    for (const id of names) await store.call('heartbeat', { id, now: NOON, until: NOON + 30_000, exclusive: false });
    return {
      store,
      stores,
      keepers: stores.map((one, index) => keeperOf(allotment, { store: one, instance: names[index] as string })),
    };
  }

  test('let the keys of a tag ask as often as one gateway would', async (context) => {
    const { keepers } = await three(context, { limits: { requestsPerMinute: 60 } });
    const answers = await Promise.allSettled(
      Array.from({ length: 150 }, (_, index) =>
        (keepers[index % 3] as LimitKeeper).admit(wish(keyOf(`key-${index % 7}`))),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 60);
  });

  test('spend a budget of a tag once, and get back what a dead one held', async (context) => {
    const { store, stores, keepers } = await three(context, { budgets: { total: '1' } });
    const [dead, ...alive] = keepers as [LimitKeeper, LimitKeeper, LimitKeeper];
    await dead.admit(wish(keyOf('key-1'), { cost: '0.8' }));
    await refusal(alive[0].admit(wish(keyOf('key-2'), { cost: '0.5' })));
    for (const now of [NOON + 20_000, NOON + 40_000, NOON + 60_000]) {
      for (const id of ['two', 'three'])
        await store.call('heartbeat', { id, now, until: now + 30_000, exclusive: false });
    }
    let spent = 0n;
    for (let round = 0; round < 20; round += 1) {
      const asked = Array.from({ length: 6 }, async (_, index) => {
        const id = `key-${index}`;
        const { settle } = await (alive[index % 2] as LimitKeeper).admit(wish(keyOf(id), { cost: '0.1' }));
        await spend(stores[(index % 2) + 1] as Store, id, moneyOf('0.05'));
        spent += moneyOf('0.05');
        settle({ tokens: 0, cost: moneyOf('0.05') });
      });
      await Promise.allSettled(asked);
      for (const keeper of alive) await keeper.releaseIdle();
    }
    assert.ok(spent <= moneyOf('1') && spent >= moneyOf('0.85'), String(spent));
  });
});
