/** The channel between a primary and its workers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import { type Channel, type ChannelMessage, createChannel } from '../../src/gateway/workers/channel.ts';
import { createChannelStore } from '../../src/gateway/workers/channel-store.ts';
import type { StoreCall } from '../../src/gateway/workers/messages.ts';
import type { StoreOperationName } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/unavailable.ts';
import { openTestSqlite } from '../store/stores.ts';

interface Pair {
  near: Channel;
  far: Channel;
  messages: ChannelMessage[];
}

function pairWith(handlers: Parameters<typeof createChannel>[1]): Pair {
  const messages: ChannelMessage[] = [];
  const near: Channel = createChannel((message) => {
    messages.push(message);
    far.receive(structuredClone(message));
  }, {});
  const far: Channel = createChannel((message) => near.receive(structuredClone(message)), handlers);
  return { near, far, messages };
}

test('calls of one turn are one message, and each gets its own answer', async () => {
  const { near, messages } = pairWith({ double: (value: bigint) => 2n * value });
  assert.deepEqual(await Promise.all([1n, 2n, 3n].map((value) => near.call('double', value))), [2n, 4n, 6n]);
  assert.equal(messages.length, 1);
});

test('refusals and failures arrive as what they are', async () => {
  const { near } = pairWith({
    refuse: () => Promise.reject(new GatewayError('not_found', 'There is no key.', { param: 'id' })),
    away: () => Promise.reject(new StoreUnavailable('the disk is full')),
  });
  await assert.rejects(near.call('refuse', {}), { code: 'not_found', message: 'There is no key.', param: 'id' });
  await assert.rejects(near.call('away', {}), { code: 'unavailable', problem: 'the disk is full' });
  await assert.rejects(near.call('nonsense', {}), /no handler nonsense/);
});

test('calls that wait are rejected when the other side is gone, and so are later ones', async () => {
  const { near, far } = pairWith({ wait: () => new Promise(() => {}) });
  const waiting = near.call('wait', {});
  near.close(new StoreUnavailable('the primary ended'));
  await assert.rejects(waiting, { problem: 'the primary ended' });
  await assert.rejects(near.call('wait', {}), { problem: 'the primary ended' });
  await far.handled();
});

test('a store over the channel is the store', async (context) => {
  const store = await openTestSqlite(context);
  const { near } = pairWith({
    store: ({ name, parameters }: StoreCall) => store.call(name as StoreOperationName, parameters as never),
  });
  const remote = createChannelStore(near);
  const holding = { name: 'key concurrent', instance: 'one', limit: 5n };
  assert.deepEqual(await remote.call('setHold', { ...holding, want: 9n }), { granted: 5n, spent: 0n, others: 0n });
  const other = await store.call('setHold', { ...holding, instance: 'two', want: 9n });
  assert.deepEqual(other, { granted: 0n, spent: 0n, others: 5n });
  assert.deepEqual(await remote.health(), { writable: true });
  await remote.close();
  await assert.rejects(remote.call('keysVersion', {}), StoreUnavailable);
});
