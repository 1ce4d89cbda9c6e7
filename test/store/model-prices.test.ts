/** Prices of models in the store: a change is noted once with its moment, whichever gateway sees it, and what is kept is bounded. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { forEachStore } from './stores.ts';

const START = 1_800_000_000_000;
const MOST = 20_000;

forEachStore((engine, openStore) => {
  describe(`prices of models (${engine})`, () => {
    const note = (store: Store, prices: Record<string, string>, now: number) =>
      store.call('notePrices', {
        seen: Object.entries(prices).map(([model, price]) => ({ model, prices: price })),
        now,
      });

    test('change once, also where two gateways see it at once', async (context) => {
      const store = await openStore(context);
      const gateways: Store[] = [store, await store.beside(), store, store];
      assert.deepEqual(await store.call('readPriceChanges', {}), { changes: [], since: undefined });
      await Promise.all(gateways.map((one) => note(one, { a: '1', b: '1', c: '1' }, START)));
      assert.deepEqual(await store.call('readPriceChanges', {}), { changes: [], since: START });
      await Promise.all(gateways.map((one, index) => note(one, { a: '2', b: '1', c: '3' }, START + 10 + index)));
      const { changes } = await store.call('readPriceChanges', {});
      assert.deepEqual(changes.map(({ model, before, after }) => [model, before, after]).toSorted(), [
        ['a', '1', '2'],
        ['c', '1', '3'],
      ]);
      assert.ok(changes.every(({ changedAt }) => changedAt >= START + 10 && changedAt <= START + 13));
      // A model that was away for a while has the price that it had.
      await note(store, { b: '1' }, START + 20);
      await note(store, { a: '2', b: '1', c: '3' }, START + 30);
      assert.equal((await store.call('readPriceChanges', {})).changes.length, 2);
      await note(store, { b: '4' }, START + 40);
      assert.deepEqual((await store.call('readPriceChanges', {})).changes[0], {
        model: 'b',
        before: '1',
        after: '4',
        changedAt: START + 40,
      });
    });

    test('are kept of so many models, of which those that are gone give way', async (context) => {
      const store = await openStore(context);
      const many = (name: string, count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, '1']));
      await note(store, many('old', MOST), START);
      await note(store, { ...many('old', 10), ...many('new', 5) }, START + 1);
      await note(store, { ...many('old', 20), new4: '2' }, START + 2);
      const { changes } = await store.call('readPriceChanges', {});
      assert.deepEqual(
        changes.map(({ model }) => model),
        ['new4'],
      );
      // Of those that gave way nothing is known.
      await note(store, { old15: '7', old5: '7' }, START + 3);
      const late = (await store.call('readPriceChanges', {})).changes.map(({ model }) => model);
      assert.deepEqual(late, ['old15', 'old5', 'new4']);
    });

    test('that change by the thousand are noted in several calls', async (context) => {
      const store = await openStore(context);
      const all = (price: string) =>
        Object.fromEntries(Array.from({ length: 2500 }, (_, index) => [`m${index}`, price]));
      assert.equal(await note(store, all('1'), START), false);
      const isMore = [];
      for (const round of [1, 2, 3]) {
        isMore.push(await note(store, all('2'), START + round));
        const { changes } = await store.call('readPriceChanges', {});
        assert.equal(changes.length, Math.min(round * 1000, 2000), 'the list has 2000');
      }
      assert.deepEqual(isMore, [true, true, false]);
      const { changes } = await store.call('readPriceChanges', {});
      assert.equal(changes.filter(({ changedAt }) => changedAt === START + 3).length, 500);
    });
  });
});
