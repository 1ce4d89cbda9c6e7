/** Configured name servers; slow ones do not block other lookups. */

import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { createLookup, createResolverLookup, systemLookup } from '../../src/net/resolver.ts';
import { startNameServer } from './name-server.ts';

const never = new AbortController().signal;

test('the name servers of the configuration are asked', async (context) => {
  const server = await startNameServer(context, '93.184.215.14');
  const lookup = createResolverLookup([server.address]);
  assert.deepEqual(await lookup('hooks.example.org', never), ['93.184.215.14']);
  assert.deepEqual(await lookup('missing.example.org', never), []);
  assert.ok(server.asked.includes('hooks.example.org'));
});

test('names that the operator allows are looked up as this machine does it', async (context) => {
  const server = await startNameServer(context, '93.184.215.14');
  const lookup = createLookup(createAddressPolicy({ allowHosts: ['localhost'] }), [server.address]);
  assert.ok((await lookup('localhost', never)).some((address) => address === '127.0.0.1' || address === '::1'));
  assert.deepEqual(server.asked, []);
});

test('names that the operator allows are asked of the name servers of the configuration, then of this machine', async (context) => {
  const server = await startNameServer(context, '10.1.2.3');
  const lookup = createLookup(createAddressPolicy({ allowHosts: ['hooks.internal', hostname()] }), [server.address]);
  assert.deepEqual(await lookup('hooks.internal', never), ['10.1.2.3']);
  assert.ok(server.asked.includes('hooks.internal'));
  const own = await systemLookup(hostname(), never).catch(() => undefined);
  if (own === undefined) return context.diagnostic('this machine does not know its own name');
  assert.deepEqual(await lookup(hostname(), never), own);
  assert.ok(server.asked.includes(hostname()));
});

test('a look-up ends when its caller gives up, and 32 slow ones let the next one in then', async (context) => {
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
