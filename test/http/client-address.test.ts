/** Whose word counts for where a request comes from. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createClientAddress } from '../../src/http/client-address.ts';

const PROXIES = ['10.0.0.0/8', '2001:db8::/32'];

const cases: [name: string, socket: string | undefined, forwarded: string | undefined, client: string][] = [
  ['nobody in between', '203.0.113.7', undefined, '203.0.113.7'],
  ['a stranger who claims to be somebody else', '203.0.113.7', '10.0.0.1', '203.0.113.7'],
  ['a proxy of ours', '10.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['a proxy of ours on a socket of both kinds', '::ffff:10.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['two proxies of ours', '10.0.0.1', '203.0.113.7, 2001:db8::5', '203.0.113.7'],
  ['a client that prepends what it likes', '10.0.0.1', '192.0.2.1, 203.0.113.7', '203.0.113.7'],
  ['a proxy that tells the port', '10.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
  ['a proxy that tells the port of IPv6', '10.0.0.1', '[2620::1]:4711', '2620::1'],
  ['a proxy that does not know', '10.0.0.1', '203.0.113.7, unknown', ''],
  ['a proxy that says nothing', '10.0.0.1', undefined, '10.0.0.1'],
  ['a socket without an address', undefined, '203.0.113.7', ''],
];
for (const [name, remoteAddress, forwarded, client] of cases) {
  test(name, () => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    assert.equal(createClientAddress(PROXIES)({ socket: { remoteAddress }, headers }), client);
  });
}

test('without trusted proxies the header means nothing', () => {
  const arrival = { socket: { remoteAddress: '10.0.0.1' }, headers: { 'x-forwarded-for': '203.0.113.7' } };
  assert.equal(createClientAddress([])(arrival), '10.0.0.1');
});

test('an address that is kept does not keep the header that it stood in', () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const clientAddress = createClientAddress(PROXIES);
  const kept: string[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 2000; index++) {
    // As a parser cuts it from a head.
    const header = `${'x'.repeat(16_000)}203.0.${100 + (index % 100)}.${100 + Math.floor(index / 100)}${index}`;
    const headers = { 'x-forwarded-for': header.slice(16_000, 16_013) };
    kept.push(clientAddress({ socket: { remoteAddress: '10.0.0.1' }, headers }));
  }
  collect();
  const bytes = (process.memoryUsage().heapUsed - before) / kept.length;
  assert.ok(kept.every((address) => address.length === 13));
  assert.ok(bytes < 1000, `${bytes}`);
});
