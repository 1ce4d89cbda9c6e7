/** Configured name servers; slow ones do not block other lookups. */

import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { createLookup, createResolverLookup, systemLookup } from '../../src/net/resolver.ts';
import { startNameServer } from './name-server.ts';

const never = new AbortController().signal;

test('names are resolved by the configured name servers', async (context) => {
  const server = await startNameServer(context, '93.184.215.14');
  const lookup = createResolverLookup([server.address]);
  assert.deepEqual(await lookup('hooks.example.org', never), ['93.184.215.14']);
  assert.deepEqual(await lookup('missing.example.org', never), []);
  assert.ok(server.asked.includes('hooks.example.org'));
});

test('localhost is resolved by the operating system', async (context) => {
  const server = await startNameServer(context, '93.184.215.14');
  const lookup = createLookup(createAddressPolicy({ allowHosts: ['localhost'] }), [server.address]);
  assert.ok((await lookup('localhost', never)).some((address) => address === '127.0.0.1' || address === '::1'));
  assert.deepEqual(server.asked, []);
});

test('allowed private names are resolved by the configured name servers, then by the operating system', async (context) => {
  const server = await startNameServer(context, '10.1.2.3');
  const lookup = createLookup(createAddressPolicy({ allowHosts: ['hooks.internal', hostname()] }), [server.address]);
  assert.deepEqual(await lookup('hooks.internal', never), ['10.1.2.3']);
  assert.ok(server.asked.includes('hooks.internal'));
  const own = await systemLookup(hostname(), never).catch(() => undefined);
  if (own === undefined)
    return context.skip('this machine does not resolve its own name; only the other name was checked');
  assert.deepEqual(await lookup(hostname(), never), own);
  assert.ok(server.asked.includes(hostname()));
});

test('an aborted lookup ends and frees its slot, also after 32 slow ones', async (context) => {
  const server = await startNameServer(context, '93.184.215.14');
  const lookup = createResolverLookup([server.address]);
  const caller = new AbortController();
  const slow = Array.from({ length: 40 }, (_, index) => lookup(`slow.${index}.example.org`, caller.signal));
  const asked = () => new Set(server.asked.filter((name) => name.startsWith('slow.'))).size;
  while (asked() < 32) await new Promise(setImmediate);
  caller.abort();
  const outcomes = await Promise.allSettled(slow);
  assert.ok(outcomes.every(({ status }) => status === 'rejected'));
  assert.equal(asked(), 32);
  assert.deepEqual(await lookup('hooks.example.org', never), ['93.184.215.14']);
});
