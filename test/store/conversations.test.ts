/** Conversations in the store: who holds them, what is appended, and sums that come back to nothing. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewStoredItem } from '../../src/records/stored-conversation.ts';
import type { Store } from '../../src/store/store.ts';
import { allOf, forEachStore } from './stores.ts';

const AT = 1_800_000_000_000;
const LIMITS = { responses: 100, bytes: 2 ** 30, conversationItems: 100, conversationBytes: 2 ** 20 };
const OWNER = 'key-1';
const named = (id: string, now = AT) => ({ owner: OWNER, id, now });
const times = { changedAt: AT, expiresAt: AT + 1000 };

/** An item with a part of its own, and one that all items share. */
function item(name: string): NewStoredItem {
  const digests = [`own ${name}`, 'shared'];
  return {
    row: `row ${name}`,
    id: name,
    otherId: `other ${name}`,
    content: Buffer.from(name),
    wholeBytes: 100,
    digests,
  };
}

const parts = (names: readonly string[]) =>
  [...names.map((name) => `own ${name}`), 'shared'].map((digest) => ({ digest, content: Buffer.from(digest) }));

async function put(store: Store, id: string, names: readonly string[] = []): Promise<void> {
  const metadata = Buffer.from('{}');
  const conversation = { id, owner: OWNER, createdAt: AT, ...times, metadata };
  await store.call('putConversation', { conversation, limits: LIMITS, items: names.map(item), parts: parts(names) });
}

async function idsIn(store: Store, id: string): Promise<string[] | undefined> {
  const found = allOf(await store.call('readWholeConversation', { ...named(id), maxItems: 100, maxBytes: 2 ** 20 }));
  return found && found !== 'too-long' ? found.items.map((one) => one.id) : undefined;
}

forEachStore((engine, openStore) => {
  test(`a clock that was set back after a kill keeps no conversation held (${engine})`, async (context) => {
    const store = await openStore(context);
    await put(store, 'conv_1');
    const hold = (holder: string, now: number) =>
      store.call('holdConversation', { ...named('conv_1', now), holder, until: now + 30, expiresAt: now + 500 });
    assert.equal(await hold('a', AT), 'held');
    // Clocks of gateways may differ a little.
    assert.equal(await hold('b', AT - 20), 'busy');
    assert.equal(await hold('b', AT - 3_600), 'held');
    assert.equal(await hold('c', AT - 3_590), 'busy');
  });

  test(`one response at a time holds a conversation, until it is released or its time is over (${engine})`, async (context) => {
    const store = await openStore(context);
    await put(store, 'conv_1');
    const hold = (holder: string, now: number, id = 'conv_1') =>
      store.call('holdConversation', { ...named(id, now), holder, until: now + 30, expiresAt: now + 500 });
    assert.equal(await hold('a', AT), 'held');
    assert.equal(await hold('b', AT + 29), 'busy');
    assert.equal(await store.call('renewConversationHold', { id: 'conv_1', holder: 'a', until: AT + 60 }), true);
    assert.equal(await hold('b', AT + 59), 'busy');
    await store.call('releaseConversation', { id: 'conv_1', holder: 'b' });
    assert.equal(await hold('b', AT + 59), 'busy');
    assert.equal(await hold('b', AT + 60), 'held');
    assert.equal(await store.call('renewConversationHold', { id: 'conv_1', holder: 'a', until: AT + 90 }), false);
    await store.call('releaseConversation', { id: 'conv_1', holder: 'b' });
    assert.equal(await hold('c', AT + 61), 'held');
    assert.equal(await hold('c', AT, 'conv_2'), undefined);
    assert.equal(await hold('d', AT + 561), undefined);
    const many = await Promise.all(Array.from({ length: 8 }, (_, index) => hold(`m${index}`, AT + 91)));
    assert.deepEqual(many.toSorted(), [...Array(7).fill('busy'), 'held']);
  });

  test(`items are appended as a block, with other ids where theirs are taken (${engine})`, async (context) => {
    const store = await openStore(context);
    await put(store, 'conv_1', ['a']);
    const append = (...names: string[]) =>
      store.call('appendTurn', {
        owner: OWNER,
        limits: LIMITS,
        appended: { conversation: 'conv_1', items: names.map(item), parts: parts(names), ...times, holder: 'x' },
      });
    await Promise.all([append('b1', 'b2'), append('c1', 'c2'), append('d1', 'd2')]);
    const ids = (await idsIn(store, 'conv_1')) ?? [];
    assert.equal(ids.length, 7);
    for (const name of 'bcd') assert.equal(ids.indexOf(`${name}2`), ids.indexOf(`${name}1`) + 1);
    const again = { ...item('e'), id: 'a' };
    await store.call('appendTurn', {
      owner: OWNER,
      limits: LIMITS,
      appended: { conversation: 'conv_1', items: [again], parts: parts(['e']), ...times },
    });
    assert.equal((await idsIn(store, 'conv_1'))?.at(-1), 'other e');
    const refused = await store.call('appendToConversation', {
      named: named('conv_1'),
      limits: LIMITS,
      appended: { conversation: 'conv_1', items: [item('f'), again], parts: parts(['f']), ...times },
    });
    assert.deepEqual(refused, { duplicate: 'a' });
    assert.equal((await idsIn(store, 'conv_1'))?.length, 8);
  });

  test(`one that has expired is not changed, and does not come back (${engine})`, async (context) => {
    const store = await openStore(context);
    await put(store, 'conv_1');
    const late = named('conv_1', times.expiresAt);
    const metadata = Buffer.from('{"a":"b"}');
    assert.equal(await store.call('changeConversation', { ...late, metadata, expiresAt: AT + 5000 }), false);
    assert.equal(await store.call('readConversation', late), undefined);
    assert.equal(await store.call('pruneConversations', { ...late, limit: 10 }), 1);
  });

  test(`what is deleted leaves nothing behind, and the sums are right (${engine})`, async (context) => {
    const store = await openStore(context);
    const left = async () => {
      const found = await store.call('ownersOfExpiredConversations', { now: AT + 10_000, limit: 10 });
      return found.length;
    };
    await put(store, 'conv_1', ['a', 'b', 'c']);
    await put(store, 'conv_2', ['x']);
    assert.ok(await store.call('deleteConversationItem', { ...named('conv_1'), item: 'b', expiresAt: AT + 1000 }));
    assert.equal(
      await store.call('deleteConversationItem', { ...named('conv_1'), item: 'b', expiresAt: AT + 1000 }),
      undefined,
    );
    await store.call('deleteAppended', { owner: OWNER, id: 'conv_1', rows: ['row c', 'row b', 'row x'] });
    assert.deepEqual(await idsIn(store, 'conv_1'), ['a']);
    assert.deepEqual(await idsIn(store, 'conv_2'), ['x']);
    const found = allOf(
      await store.call('findConversationItems', {
        owner: OWNER,
        ids: ['a', 'b', 'x'],
        now: AT,
        maxBytes: 1e6,
      }),
    );
    assert.ok(found !== 'too-long');
    assert.deepEqual(found.items.map(({ id }) => id).toSorted(), ['a', 'x']);
    assert.deepEqual(found.parts.map(({ digest }) => digest).toSorted(), ['own a', 'own x', 'shared']);
    assert.equal(await store.call('deleteConversation', { ...named('conv_1'), owner: 'key-2' }), false);
    assert.equal(await store.call('deleteConversation', named('conv_1')), true);
    assert.equal(await store.call('deleteConversation', named('conv_1')), false);
    assert.equal(await left(), 1);
    assert.equal(await store.call('pruneConversations', { owner: OWNER, now: AT + 999, limit: 10 }), 0);
    assert.equal(await store.call('pruneConversations', { owner: OWNER, now: AT + 1000, limit: 10 }), 1);
    assert.equal(await left(), 0);
    // A sum that were not zero would have made this one go at once.
    await put(store, 'conv_3', ['z']);
    const limits = { ...LIMITS, bytes: 500 };
    await store.call('appendTurn', {
      owner: OWNER,
      limits,
      appended: { conversation: 'conv_3', items: [], parts: [], ...times },
    });
    assert.deepEqual(await idsIn(store, 'conv_3'), ['z']);
  });
});
