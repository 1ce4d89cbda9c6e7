/** Streams of background responses in the store: their end, their bound and their deletion, on both engines. */

import assert from 'node:assert/strict';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createByteBudget } from '../../src/core/byte-budget.ts';
import { systemClock } from '../../src/core/clock.ts';
import { KEEP_ALIVE } from '../../src/protocols/responses/encode-stream.ts';
import { createCipher } from '../../src/security/cipher.ts';
import type { StreamPage } from '../../src/store/operations/stored-streams.ts';
import type { Store } from '../../src/store/store.ts';
import { createBackgroundStreams } from '../../src/stored-responses/background-stream.ts';
import { sealEvents } from '../../src/stored-responses/event-log.ts';
import { rekeyResponses } from '../../src/stored-responses/rekey.ts';
import { forEachStore } from './stores.ts';

const AT = 1_800_000_000_000;
const LIMITS = { responses: 100, bytes: 2 ** 30 };
const OLD = Buffer.alloc(32, 1);
const cipher = createCipher([OLD]);
const response = {
  row: 'a',
  owner: 'key-1',
  id: 'resp_a',
  status: 'queued' as const,
  background: true,
  createdAt: AT,
  expiresAt: AT + 10_000,
  model: 'p/m',
  provider: 'p',
  items: 0,
  wholeBytes: 0,
};
const job = { kind: 'response', ref: 'a', lane: 'p', owner: 'key-1', dueAt: AT };
const batch = (first: number, ...texts: string[]) => sealEvents(cipher, 'a', { first, texts });
const read = (store: Store, from = 0, now = AT) => store.call('readStoredStream', { row: 'a', from, now });

async function begin(store: Store): Promise<{ id: string; lease: string }> {
  const names = [{ kind: 'response' as const, name: 'resp_a', position: 0 }];
  const accepted = {
    response,
    names,
    parts: [],
    limits: LIMITS,
    mostOpen: 1,
    job,
    events: batch(0, 'one\n\n', 'two\n\n'),
  };
  assert.equal(await store.call('acceptBackgroundResponse', accepted), true);
  const claim = {
    kind: 'response',
    now: AT,
    until: AT,
    lease: 'lease-1',
    leaseUntil: AT + 5000,
    slots: 1,
    lateSlots: 1,
  };
  const { jobs } = await store.call('claimJobs', { ...claim, maxPerLane: 1, maxPerOwner: 1 });
  const [{ id, lease } = { id: '', lease: '' }] = jobs;
  return { id, lease };
}

forEachStore((engine, openStore) => {
  test(`events are added in order while the response is made, and no more when it has ended (${engine})`, async (context) => {
    const store = await openStore(context);
    const lease = await begin(store);
    const append = (first: number, maxBytes = 2 ** 20) =>
      store.call('appendStoredEvents', { row: 'a', batch: batch(first, 'more\n\n'), maxBytes });
    assert.equal(await append(2), false);
    assert.equal(await store.call('startBackgroundResponse', { row: 'a', job: { ...lease, lease: 'other' } }), false);
    assert.equal(await store.call('startBackgroundResponse', { row: 'a', job: lease }), true);
    assert.equal(await store.call('startBackgroundResponse', { row: 'a', job: lease }), false);
    assert.equal(await append(3), false);
    assert.equal(await append(2), true);
    // Again, because nobody knows whether the first time was committed.
    assert.equal(await append(2), true);
    assert.deepEqual(
      (await read(store, 2))?.batches.map(({ first, last }) => [first, last]),
      [[2, 2]],
    );
    assert.equal(await append(3, 10), true);
    assert.equal(await append(3), false);
    const page = await read(store);
    assert.deepEqual([page?.status, page?.next, page?.isTruncated, page?.batches.length], ['in_progress', 3, true, 2]);
    assert.equal((await store.call('readBackgroundResponse', { row: 'a' }))?.nextEvent, 3);
    const changed = { response: { ...response, status: 'completed' as const }, names: [], parts: [], limits: LIMITS };
    assert.equal(
      await store.call('changeStoredResponse', { ...changed, finishes: lease, streamExpiresAt: AT + 500 }),
      true,
    );
    assert.equal((await read(store))?.status, 'completed');
    assert.equal(await read(store, 0, AT + 500), undefined);
    assert.equal(await store.call('pruneStoredStreams', { now: AT + 499, limit: 10 }), 0);
    assert.equal(await store.call('pruneStoredStreams', { now: AT + 500, limit: 10 }), 1);
    assert.equal(await read(store), undefined);
  });

  test(`a key has so many unfinished responses, and a deleted one leaves no events (${engine})`, async (context) => {
    const store = await openStore(context);
    await begin(store);
    const second = {
      ...{ response: { ...response, row: 'b', id: 'resp_b' }, names: [], parts: [], limits: LIMITS },
      ...{ mostOpen: 1, job: { ...job, ref: 'b' } },
    };
    assert.equal(await store.call('acceptBackgroundResponse', second), false);
    assert.deepEqual(await store.call('closedBackgroundResponses', { rows: ['a', 'b'] }), ['b']);
    assert.equal(await rekeyResponses(store, createCipher([Buffer.alloc(32, 2), OLD])), 1);
    await store.call('deleteStoredResponse', { owner: 'key-1', id: 'resp_a', now: AT });
    assert.equal(await read(store), undefined);
    assert.deepEqual(await store.call('scanStoredEvents', { row: '', first: 0, limit: 10 }), []);
    assert.deepEqual(await store.call('closedBackgroundResponses', { rows: ['a'] }), ['a']);
    assert.equal(await store.call('acceptBackgroundResponse', second), true);
  });

  test(`readers of large events share the memory, and wait for it (${engine})`, async (context) => {
    const store = await openStore(context);
    const lease = await begin(store);
    assert.equal(await store.call('startBackgroundResponse', { row: 'a', job: lease }), true);
    const event = `data: ${'x'.repeat(1_000_000)}\n\n`;
    for (const first of [2, 3, 4])
      await store.call('appendStoredEvents', { row: 'a', batch: batch(first, event), maxBytes: 2 ** 23 });
    const changed = { response: { ...response, status: 'completed' as const }, names: [], parts: [], limits: LIMITS };
    await store.call('changeStoredResponse', { ...changed, finishes: lease, streamExpiresAt: AT + 1e12 });
    const budget = createByteBudget(2_500_000);
    const clock = { ...systemClock, now: () => AT };
    let reads = 0;
    const counting = {
      async call(name: never, parameters: never) {
        const page = (await store.call(name, parameters)) as StreamPage | undefined;
        if (page?.batches.length) reads++;
        return page;
      },
    };
    const streams = createBackgroundStreams({ store: counting as Store, cipher, clock });
    const readers = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const share = () => budget.open('key-1');
        const body = await streams.open({
          ...{ stored: { ...response, status: 'completed' }, from: 2, cancelled: () => ({}) },
          hold(bytes) {
            const held = share();
            return held.resize(bytes) ? held.close : undefined;
          },
          async response(reserve) {
            reserve(500_000);
            return { status: 'completed' };
          },
        });
        const reader = { body: body ?? assert.fail(), texts: [] as string[] };
        reader.body.on('data', (text) => {
          reader.texts.push(String(text));
          if (text !== KEEP_ALIVE) reader.body.pause();
        });
        return reader;
      }),
    );
    const begun = () => readers.filter(({ texts }) => texts.some((text) => text !== KEEP_ALIVE));
    while (begun().length === 0) await pause(10);
    // Longer than the interval in which the others look for room.
    await pause(500);
    assert.equal(begun().length, 1, 'half of the memory has room for one');
    assert.equal(reads, 1, 'nothing is read ahead');
    assert.ok(budget.held > 0 && budget.held < 1_800_000, String(budget.held));
    while (begun().length < 2) await pause(10);
    await pause(500);
    assert.deepEqual([begun().length, reads], [2, 2], 'one more goes on alone, so that none waits for ever');
    for (const { body } of readers) body.on('data', () => setImmediate(() => body.resume())).resume();
    for (const { body, texts } of readers) {
      await finished(body);
      const events = texts.filter((text) => text !== KEEP_ALIVE);
      assert.deepEqual(events.slice(0, 3), [event, event, event]);
      assert.match(events.slice(3).join(''), /^event: response.completed\ndata: .*"sequence_number":5/);
    }
    assert.equal(budget.held, 0);
  });

  test(`a slow reader of a large event holds up no readers of small ones where there is no room (${engine})`, async (context) => {
    const store = await openStore(context);
    const lease = await begin(store);
    assert.equal(await store.call('startBackgroundResponse', { row: 'a', job: lease }), true);
    const event = (bytes: number) => `data: ${'x'.repeat(bytes)}\n\n`;
    const append = (first: number, bytes: number) =>
      store.call('appendStoredEvents', { row: 'a', batch: batch(first, event(bytes)), maxBytes: 2 ** 23 });
    await append(2, 2_000_000);
    await append(3, 200_000);
    const streams = createBackgroundStreams({ store, cipher, clock: { ...systemClock, now: () => AT } });
    const open = async (from: number) => {
      const about = { hold: () => undefined, response: async () => ({}), cancelled: () => ({}) };
      const body = await streams.open({ ...about, stored: { ...response, status: 'in_progress' }, from });
      const reader = { body: body ?? assert.fail(), text: '' };
      reader.body.on('data', (text) => {
        if (text === KEEP_ALIVE) return;
        reader.text = String(text);
        reader.body.pause();
      });
      return reader;
    };
    const large = [await open(2), await open(2)];
    while (large.every(({ text }) => text === '')) await pause(10);
    const small = await Promise.all([3, 3, 3].map(open));
    const readOf = (readers: { text: string }[]) => readers.filter(({ text }) => text !== '').length;
    while (readOf(small) < 2) await pause(10);
    await pause(1500);
    assert.deepEqual([readOf(large), readOf(small)], [1, 2], 'one large part, and small ones up to their bound');
    small.find(({ text }) => text !== '')?.body.resume();
    while (readOf(small) < 3) await pause(10);
    large.find(({ text }) => text !== '')?.body.destroy();
    while (readOf(large) < 2) await pause(10);
    for (const { body } of [...large, ...small]) body.destroy();
  });
});
