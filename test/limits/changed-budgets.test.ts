/** Budgets that change while requests run: raised, lowered, taken back and set again, with no more spent than the new one allows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { moneyOf } from '../../src/core/money.ts';
import type { Admission } from '../../src/limits/limit-keeper.ts';
import { createLimitKeeper } from '../../src/limits/limits.ts';
import { createQuota } from '../../src/limits/quota.ts';
import type { Allotment, Budgets, KeySettings, SharedAllotments } from '../../src/records/key-settings.ts';
import type { Store } from '../../src/store/store.ts';
import { createRecorder } from '../../src/usage/recorder.ts';
import { forEachStore } from '../store/stores.ts';
import { completion, intent, NOON } from '../usage/records.ts';

const TEAM = 'team=search';
const log = pino({ level: 'silent' });

/** A gateway, and its key with the tag, whose budgets can be changed; one of several if it has a name. */
function openGateway(store: Store, instance?: string) {
  let shared: SharedAllotments = { keyDefaults: {}, tags: new Map() };
  let settings: KeySettings = { tags: { team: 'search' } };
  const quota = createQuota({ store, instance: instance ?? 'one', ...(instance && { shared: true }) });
  const keeper = createLimitKeeper({ quota, shared: () => shared, now: () => NOON });
  const ask = (cost: string) =>
    keeper.admit({ key: { id: 'key-1', settings }, model: 'a/m', tokens: 0, cost: moneyOf(cost) });
  async function end({ settle }: Admission, cost: string): Promise<void> {
    const recorder = createRecorder({ store, instance: `x-${Math.random()}`, durability: 'strict', log });
    const request = intent(`${Math.random()}`, { tags: TEAM });
    await recorder.begin(request);
    await recorder.finish(request, completion({ cost: moneyOf(cost) }));
    await recorder.flushed();
    settle({ tokens: 0, cost: moneyOf(cost) });
  }

  return {
    keeper,
    setTag(budgets: Budgets | undefined) {
      const tags = new Map<string, Allotment>(budgets ? [[TEAM, { budgets }]] : []);
      shared = { keyDefaults: {}, tags };
    },
    setKey(budgets: Budgets | undefined) {
      settings = { tags: { team: 'search' }, ...(budgets && { budgets }) };
    },
    ask,
    /** A request that costs as much as was reserved. */
    async spend(cost: string) {
      await end(await ask(cost), cost);
    },
    end,
  };
}

const REFUSED = { code: 'insufficient_quota' };

forEachStore((name, open) => {
  for (const [holder, method] of [
    ['tag', 'setTag'],
    ['key', 'setKey'],
  ] as const) {
    test(`what was spent while a ${holder} had no budget counts when it has the same again (${name})`, async (context) => {
      const gateway = openGateway(await open(context));
      const set = gateway[method];
      set({ total: '10' });
      await gateway.spend('1');
      set(undefined);
      await gateway.spend('8');
      set({ total: '10' });
      await assert.rejects(async () => gateway.ask('2'), REFUSED);
      await gateway.spend('1');
      await assert.rejects(async () => gateway.ask('0.01'), REFUSED);
    });

    test(`a budget of a ${holder} that was raised for some time is the old one again (${name})`, async (context) => {
      const gateway = openGateway(await open(context));
      const set = gateway[method];
      set({ month: '10' });
      await gateway.spend('2');
      set({ month: '20' });
      await gateway.spend('12');
      set({ month: '10' });
      await assert.rejects(async () => gateway.ask('0.01'), REFUSED);
      set({ month: '15' });
      await gateway.spend('1');
      await assert.rejects(async () => gateway.ask('0.01'), REFUSED);
    });

    test(`what ran before a ${holder} had the budget counts for it at its end (${name})`, async (context) => {
      const gateway = openGateway(await open(context));
      const set = gateway[method];
      const free = await gateway.ask('4');
      set({ day: '90' });
      const budgeted = await gateway.ask('3');
      set({ day: '90', total: '10' });
      await gateway.spend('1');
      await gateway.end(free, '4');
      await assert.rejects(async () => gateway.ask('5.01'), REFUSED);
      await gateway.spend('1');
      await gateway.end(budgeted, '3');
      await assert.rejects(async () => gateway.ask('1.01'), REFUSED);
      await gateway.spend('1');
    });

    test(`what ran before a ${holder} had the budget counts also after other periods were forgotten (${name})`, async (context) => {
      const gateway = openGateway(await open(context));
      const set = gateway[method];
      const running = await gateway.ask('6');
      set({ total: '10' });
      await gateway.spend('1');
      gateway.keeper.forgetEnded();
      await gateway.end(running, '6');
      await assert.rejects(async () => gateway.ask('4'), REFUSED);
      await gateway.spend('3');
    });

    test(`what runs counts against the new budget of a ${holder} (${name})`, async (context) => {
      const gateway = openGateway(await open(context));
      const set = gateway[method];
      set({ total: '10' });
      const running = await gateway.ask('4');
      set({ total: '5' });
      await assert.rejects(async () => gateway.ask('2'), REFUSED);
      const other = await gateway.ask('1');
      set({ total: '3' });
      await assert.rejects(async () => gateway.ask('0.01'), REFUSED);
      running.settle({ tokens: 0, cost: 0n });
      await gateway.ask('2');
      await assert.rejects(async () => gateway.ask('0.01'), REFUSED);
      other.settle({ tokens: 0, cost: 0n });
      await gateway.ask('1');
    });
  }

  test(`other gateways count what runs at one whose budget changed, and nothing after its end (${name})`, async (context) => {
    const store = await open(context);
    const [one, other] = [openGateway(store, 'one'), openGateway(store, 'two')];
    for (const gateway of [one, other]) gateway.setTag({ total: '10' });
    const running = await one.ask('4');
    for (const gateway of [one, other]) gateway.setTag({ total: '6' });
    const second = await one.ask('1');
    await one.keeper.releaseIdle();
    await one.keeper.releaseIdle();
    await assert.rejects(async () => other.ask('1.5'), REFUSED);
    for (const { settle } of [running, second]) settle({ tokens: 0, cost: 0n });
    await one.keeper.releaseIdle();
    await one.keeper.releaseIdle();
    await other.ask('6');
  });

  test(`a hold that was spent to its end is released (${name})`, async (context) => {
    const store = await open(context);
    const [one, other] = [openGateway(store, 'one'), openGateway(store, 'two')];
    for (const gateway of [one, other]) gateway.setTag({ total: '10' });
    const taken = await other.ask('4');
    await one.spend('5.5');
    await one.keeper.releaseIdle();
    await one.keeper.releaseIdle();
    taken.settle({ tokens: 0, cost: 0n });
    await other.ask('4.5');
  });
});
