/** Stored responses: chains, references, limits and retention, on both engines. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredName, StoredResponse } from '../../src/records/stored-response.ts';
import type { Store } from '../../src/store/store.ts';
import { allOf, forEachStore } from './stores.ts';

const AT = 1_800_000_000_000;
const NO_LIMITS = { responses: 1_000_000, bytes: 2 ** 40 };

interface Given extends Partial<StoredResponse> {
  row: string;
  itemIds?: string[];
  /** Texts by digest. */
  parts?: Record<string, string>;
  limits?: { responses: number; bytes: number };
}

function added({ itemIds = [], parts = {}, limits = NO_LIMITS, ...given }: Given) {
  const content = Buffer.from(`content of ${given.row}`);
  const response: StoredResponse = {
    ...{ owner: 'key-1', id: `resp_${given.row}`, status: 'completed', background: false },
    ...{ createdAt: AT, expiresAt: AT + 1000, model: 'p/m', provider: 'p', content, items: 2 },
    wholeBytes: content.length,
    ...given,
  };
  const items = itemIds.map((name, position): StoredName => ({ kind: 'item', name, position }));
  const names: StoredName[] = [{ kind: 'response', name: response.id, position: 0 }, ...items];
  const stored = Object.entries(parts).map(([digest, text]) => ({ digest, content: Buffer.from(text) }));
  return { response, names, parts: stored, limits };
}

const put = (store: Store, given: Given) => store.call('putStoredResponse', added(given));
const read = async (store: Store, id: string, { owner = 'key-1', now = AT } = {}) =>
  allOf(await store.call('readStoredResponse', { owner, id, now }))?.response.row;
const chain = async (store: Store, id: string, more: object = {}) => {
  const found = allOf(
    await store.call('readStoredChain', {
      ...{ owner: 'key-1', id, now: AT, maxItems: 100, maxBytes: 10_000 },
      ...more,
    }),
  );
  return typeof found === 'string' ? found : found.responses.map(({ row }) => row);
};

async function totalOf(store: Store, owner = 'key-1') {
  const found = allOf(
    await store.call('findStoredItems', {
      ...{ owner, ids: [], now: 0, maxBytes: 2 ** 40 },
      rows: Array.from({ length: 40 }, (_, index) => String(index)),
    }),
  );
  return found === 'too-long' ? undefined : found.responses.length;
}

forEachStore((engine, openStore) => {
  test(`a response is found by its owner until it expires or is deleted (${engine})`, async (context) => {
    const store = await openStore(context);
    await put(store, { row: 'a', parts: { d1: 'large' }, previous: 'x', credential: 'c', background: true });
    const found = allOf(await store.call('readStoredResponse', { owner: 'key-1', id: 'resp_a', now: AT }));
    const { content, ...rest } = found?.response ?? {};
    assert.equal(Buffer.from(content ?? '').toString(), 'content of a');
    const { content: _content, ...expected } = added({
      row: 'a',
      previous: 'x',
      credential: 'c',
      background: true,
    }).response;
    assert.deepEqual(rest, expected);
    assert.deepEqual(
      found?.parts.map((part) => [part.digest, Buffer.from(part.content).toString()]),
      [['d1', 'large']],
    );
    assert.equal(await read(store, 'resp_a', { owner: 'key-2' }), undefined);
    assert.equal(await read(store, 'resp_b'), undefined);
    assert.equal(await read(store, 'resp_a', { now: AT + 1000 }), undefined);
    const named = { owner: 'key-1', id: 'resp_a', now: AT };
    assert.equal(await store.call('deleteStoredResponse', { ...named, owner: 'key-2' }), false);
    assert.equal(await store.call('deleteStoredResponse', named), true);
    assert.equal(await store.call('deleteStoredResponse', named), false);
    assert.equal(await read(store, 'resp_a'), undefined);
  });

  test(`a chain is read from the newest to the oldest, within limits (${engine})`, async (context) => {
    const store = await openStore(context);
    await put(store, { row: 'a', parts: { d1: 'shared', d2: 'own' } });
    await put(store, { row: 'b', previous: 'a', parts: { d1: 'shared' } });
    await put(store, { row: 'c', previous: 'b' });
    await put(store, { row: 'fork', previous: 'b' });
    assert.deepEqual(await chain(store, 'resp_c'), ['c', 'b', 'a']);
    assert.deepEqual(await chain(store, 'resp_fork'), ['fork', 'b', 'a']);
    const whole = allOf(
      await store.call('readStoredChain', {
        ...{ owner: 'key-1', id: 'resp_c', now: AT, maxItems: 6, maxBytes: 36 },
      }),
    );
    assert.deepEqual(typeof whole === 'string' ? whole : whole.parts.map(({ digest }) => digest).toSorted(), [
      'd1',
      'd2',
    ]);
    assert.equal(await chain(store, 'resp_c', { maxItems: 5 }), 'too-long');
    assert.equal(await chain(store, 'resp_c', { maxBytes: 35 }), 'too-long');
    assert.equal(await chain(store, 'resp_c', { owner: 'key-2' }), 'unknown');
    await store.call('deleteStoredResponse', { owner: 'key-1', id: 'resp_a', now: AT });
    assert.equal(await chain(store, 'resp_c'), 'unknown');
  });

  test(`a chain ends at the first response that a provider keeps (${engine})`, async (context) => {
    const store = await openStore(context);
    await put(store, { row: 'a' });
    await put(store, { row: 'kept', previous: 'a', content: undefined, credential: 'c' });
    await put(store, { row: 'after', previous: 'kept' });
    assert.deepEqual(await chain(store, 'resp_kept'), ['kept']);
    assert.deepEqual(await chain(store, 'resp_after'), ['after', 'kept']);
  });

  test(`responses without items are counted, so that a chain ends (${engine})`, async (context) => {
    const store = await openStore(context);
    for (let index = 0; index < 12; index++)
      await put(store, {
        row: String(index),
        items: 0,
        wholeBytes: 0,
        ...(index > 0 && { previous: String(index - 1) }),
      });
    assert.equal(await chain(store, 'resp_11', { maxItems: 10 }), 'too-long');
    assert.equal((await chain(store, 'resp_9', { maxItems: 10 })).length, 10);
  });

  test(`an id that is issued twice is that of the newest; older chains stay as they are (${engine})`, async (context) => {
    const store = await openStore(context);
    await put(store, { row: 'a', id: '1', itemIds: ['i'] });
    await put(store, { row: 'child', previous: 'a' });
    await put(store, { row: 'b', id: '1', itemIds: ['x', 'i'] });
    await put(store, { row: 'other', owner: 'key-2', id: '1', itemIds: ['i'] });
    assert.equal(await read(store, '1'), 'b');
    assert.equal(await read(store, '1', { owner: 'key-2' }), 'other');
    assert.deepEqual(await chain(store, 'resp_child'), ['child', 'a']);
    const query = { ids: ['i'], rows: [], now: AT, maxBytes: 1000 };
    const found = allOf(await store.call('findStoredItems', { owner: 'key-1', ...query }));
    assert.deepEqual(found === 'too-long' ? found : found.items, [{ id: 'i', row: 'b', position: 1 }]);
    await store.call('deleteStoredResponse', { owner: 'key-1', id: '1', now: AT });
    assert.equal(await read(store, '1'), undefined);
    assert.equal(await read(store, '1', { owner: 'key-2' }), 'other');
  });

  test(`items are found by their owner, with parts, within a limit (${engine})`, async (context) => {
    const store = await openStore(context);
    const ids = Array.from({ length: 70 }, (_, index) => `i${index}`);
    await put(store, { row: 'a', itemIds: ids, parts: { d: 'x' } });
    await put(store, { row: 'b', itemIds: ['j'] });
    const query = { owner: 'key-1', ids: [...ids, 'j', 'unknown'], rows: [], now: AT, maxBytes: 1000 };
    const found = allOf(await store.call('findStoredItems', query));
    if (found === 'too-long') assert.fail();
    assert.equal(found.items.length, 71);
    assert.deepEqual(
      found.items.find(({ id }) => id === 'i69'),
      { id: 'i69', row: 'a', position: 69 },
    );
    assert.deepEqual(found.responses.map(({ row }) => row).toSorted(), ['a', 'b']);
    assert.deepEqual(
      found.parts.map(({ digest }) => digest),
      ['d'],
    );
    assert.equal(allOf(await store.call('findStoredItems', { ...query, maxBytes: 20 })), 'too-long');
    for (const other of [{ owner: 'key-2' }, { now: AT + 1000 }]) {
      const none = allOf(await store.call('findStoredItems', { ...query, rows: ['a'], ...other }));
      assert.deepEqual(none, { items: [], responses: [], parts: [] });
    }
  });

  test(`a part is stored once, and goes with the last response that uses it (${engine})`, async (context) => {
    const store = await openStore(context);
    const large = 'x'.repeat(600);
    // The second does not fit beside the first if the part counts twice.
    const limits = { responses: 10, bytes: 1000 };
    await put(store, { row: 'a', parts: { d: large }, limits });
    await put(store, { row: 'b', parts: { d: large }, limits });
    assert.equal(await read(store, 'resp_a'), 'a');
    await store.call('deleteStoredResponse', { owner: 'key-1', id: 'resp_a', now: AT });
    const left = allOf(await store.call('readStoredResponse', { owner: 'key-1', id: 'resp_b', now: AT }));
    assert.deepEqual(
      left?.parts.map(({ digest }) => digest),
      ['d'],
    );
    await store.call('deleteStoredResponse', { owner: 'key-1', id: 'resp_b', now: AT });
    await put(store, { row: 'c', parts: { e: large }, limits });
    await put(store, { row: 'd', createdAt: AT + 1, parts: { f: large }, limits });
    assert.deepEqual([await read(store, 'resp_c'), await read(store, 'resp_d')], [undefined, 'd']);
  });

  test(`the oldest finished responses of a key make room for new ones (${engine})`, async (context) => {
    const store = await openStore(context);
    const limits = { responses: 3, bytes: 2 ** 30 };
    await put(store, { row: 'running', status: 'in_progress', createdAt: AT - 1, limits });
    for (let index = 0; index < 6; index++) await put(store, { row: String(index), createdAt: AT + index, limits });
    await put(store, { row: '20', owner: 'key-2', limits });
    const found = await Promise.all(['running', 0, 1, 2, 3, 4, 5].map((row) => read(store, `resp_${row}`)));
    assert.deepEqual(found, ['running', undefined, undefined, undefined, undefined, '4', '5']);
    assert.equal(await read(store, 'resp_20', { owner: 'key-2' }), '20');
    // One that exceeds the limit alone is kept: it was promised.
    await put(store, { row: 'huge', createdAt: AT + 9, limits: { responses: 3, bytes: 5 } });
    assert.equal(await read(store, 'resp_huge'), 'huge');
    assert.equal(await read(store, 'resp_5'), undefined);
  });

  test(`expired responses are deleted with their names and parts, in batches (${engine})`, async (context) => {
    const store = await openStore(context);
    for (let index = 0; index < 5; index++)
      await put(store, { row: String(index), itemIds: [`i${index}`], parts: { [`d${index}`]: 'x' } });
    await put(store, { row: '10', expiresAt: AT + 5000 });
    await put(store, { row: '11', owner: 'key-2' });
    const now = AT + 1000;
    assert.deepEqual((await store.call('ownersOfExpiredResponses', { now, limit: 100 })).toSorted(), [
      'key-1',
      'key-2',
    ]);
    const prune = (owner: string) => store.call('pruneStoredResponses', { owner, now, limit: 3 });
    assert.deepEqual([await prune('key-1'), await prune('key-1'), await prune('key-1')], [3, 2, 0]);
    assert.equal(await prune('key-2'), 1);
    assert.deepEqual(await store.call('ownersOfExpiredResponses', { now, limit: 100 }), []);
    assert.equal(await totalOf(store), 1);
    assert.equal(await store.call('forgetStoredResponses', { owner: 'key-1', limit: 3 }), 1);
    assert.equal(await totalOf(store), 0);
  });

  test(`a response in progress changes until it is finished (${engine})`, async (context) => {
    const store = await openStore(context);
    const job = { kind: 'response', ref: 'a', lane: 'p', owner: 'key-1', dueAt: AT };
    await store.call('putStoredResponse', { ...added({ row: 'a', status: 'queued', parts: { d: 'x' } }), job });
    const { jobs } = await store.call('claimJobs', {
      ...{ kind: 'response', now: AT, until: AT, lease: 'l', leaseUntil: AT + 1, slots: 1, lateSlots: 1 },
      ...{ maxPerLane: 1, maxPerOwner: 1, cursors: {} },
    });
    const [claimed] = jobs;
    assert.equal(claimed?.ref, 'a');
    const change = (given: Partial<Given>, lease?: string) =>
      store.call('changeStoredResponse', {
        ...added({ row: 'a', ...given }),
        ...(lease !== undefined && { finishes: { id: claimed?.id ?? '', lease } }),
      });
    assert.equal(await change({ status: 'in_progress', parts: { d: 'x' } }), true);
    assert.equal(await change({ status: 'completed' }, 'another'), false);
    assert.equal(await change({ status: 'completed', owner: 'key-2' }, 'l'), false);
    assert.equal(await change({ status: 'completed', itemIds: ['i'] }, 'l'), true);
    assert.equal(await change({ status: 'failed' }), false);
    const found = allOf(await store.call('readStoredResponse', { owner: 'key-1', id: 'resp_a', now: AT }));
    assert.deepEqual([found?.response.status, found?.parts], ['completed', []]);
    assert.equal(await store.call('deleteStoredResponse', { owner: 'key-1', id: 'resp_a', now: AT }), true);
    assert.equal(await change({ status: 'failed' }), false);
  });

  test(`deletes beside writes that share a part leave neither gaps nor remains (${engine})`, async (context) => {
    const store = await openStore(context);
    const stores = [store, await store.beside()];
    for (let round = 0; round < 8; round++) {
      await Promise.all(
        Array.from({ length: 6 }, (_, index) => {
          const row = `${round}-${index}`;
          const target = stores[index % 2] ?? store;
          if (index % 3 !== 2) return put(target, { row, parts: { d: 'shared' } });
          return target.call('deleteStoredResponse', { owner: 'key-1', id: `resp_${round - 1}-${index - 1}`, now: AT });
        }),
      );
    }
    const last = allOf(await store.call('readStoredResponse', { owner: 'key-1', id: 'resp_7-0', now: AT }));
    assert.deepEqual(
      last?.parts.map(({ digest }) => digest),
      ['d'],
    );
    while ((await store.call('forgetStoredResponses', { owner: 'key-1', limit: 5 })) > 0);
    await put(store, { row: 'z', parts: { d: 'other' } });
    const [part] =
      allOf(await store.call('readStoredResponse', { owner: 'key-1', id: 'resp_z', now: AT }))?.parts ?? [];
    assert.equal(Buffer.from(part?.content ?? '').toString(), 'other');
  });
});
