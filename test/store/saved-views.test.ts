/** Saved views in the store: each owner's own, bounded, with one of a name on a page, whichever gateway is asked. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { forEachStore } from './stores.ts';

const MOST = 100;

function view(id: string, name: string, address = '/use') {
  return { id, name, address, updatedAt: 1_700_000_000_000 };
}

function refused(param: string) {
  return (error: unknown) => error instanceof GatewayError && error.code === 'invalid_request' && error.param === param;
}

forEachStore((engine, openStore) => {
  describe(`saved views (${engine})`, () => {
    const put = (store: Store, owner: string, one: ReturnType<typeof view>) =>
      store.call('putSavedView', { owner, view: one });

    test('are those of their owner, by their names, and are replaced and removed by their ids', async (context) => {
      const store = await openStore(context);
      await put(store, 'operators', view('a', 'Teams', '/use?by=tag:team'));
      await put(store, 'operators', view('b', 'Failures', '/requests?status=failed'));
      await put(store, 'key-1', view('a', 'Mine'));
      const list = await store.call('listSavedViews', { owner: 'operators' });
      assert.deepEqual(
        list.map(({ id, name, address }) => [id, name, address]),
        [
          ['b', 'Failures', '/requests?status=failed'],
          ['a', 'Teams', '/use?by=tag:team'],
        ],
      );
      await put(store, 'operators', view('a', 'Teams of all', '/use?by=tag:team&range=7d'));
      assert.equal((await store.call('readSavedView', { owner: 'operators', id: 'a' }))?.name, 'Teams of all');
      assert.equal((await store.call('readSavedView', { owner: 'key-1', id: 'a' }))?.name, 'Mine');
      assert.equal(await store.call('removeSavedView', { owner: 'key-1', id: 'b' }), false);
      assert.equal(await store.call('removeSavedView', { owner: 'key-1', id: 'a' }), true);
      assert.equal(await store.call('readSavedView', { owner: 'key-1', id: 'a' }), undefined);
      assert.equal((await store.call('listSavedViews', { owner: 'operators' })).length, 2);
    });

    test('have one of a name on a page, also where two gateways are asked at once', async (context) => {
      const store = await openStore(context);
      const gateways: Store[] = [store, await store.beside(), store, store];
      const asked = gateways.map((one, index) =>
        put(one, 'operators', view(`id-${index}`, 'Teams', `/use?n=${index}`)),
      );
      const outcomes = await Promise.allSettled(asked);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const outcome of outcomes) if (outcome.status === 'rejected') assert.ok(refused('name')(outcome.reason));
      await put(store, 'operators', view('other-page', 'Teams', '/requests'));
      await put(store, 'key-1', view('other-owner', 'Teams', '/use'));
    });

    test('are at most a hundred of an owner', async (context) => {
      const store = await openStore(context);
      for (let count = 1; count < MOST; count++) await put(store, 'operators', view(`id-${count}`, `View ${count}`));
      const gateways: Store[] = [store, await store.beside(), store];
      const last = gateways.map((one, index) => put(one, 'operators', view(`last-${index}`, `Last ${index}`)));
      const outcomes = await Promise.allSettled(last);
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
      assert.equal((await store.call('listSavedViews', { owner: 'operators' })).length, MOST);
      await assert.rejects(put(store, 'operators', view('more', 'More')), refused('id'));
      await put(store, 'operators', view('id-1', 'Another name'));
      await put(store, 'key-1', view('id-1', 'Of a key'));
      await store.call('removeSavedView', { owner: 'operators', id: 'id-2' });
      await put(store, 'operators', view('more', 'More'));
    });
  });
});
