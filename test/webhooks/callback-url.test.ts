/** Addresses allowed as `callback_url`. */

import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import { type AddressPolicyOptions, createAddressPolicy } from '../../src/net/address-policy.ts';
import type { Lookup } from '../../src/net/resolver.ts';
import { checkCallbackUrl } from '../../src/webhooks/callback-url.ts';

const to =
  (...addresses: string[]): Lookup =>
  async () =>
    addresses;
const publicly = to('93.184.215.14');
const check = (url: string, lookup = publicly, options: AddressPolicyOptions = {}) =>
  checkCallbackUrl(url, createAddressPolicy(options), lookup);

async function messageOf(refused: Promise<unknown>): Promise<string> {
  const error = await refused.then(
    () => assert.fail('accepted'),
    (thrown) => thrown,
  );
  assert.deepEqual([error.code, error.param, error.status], ['invalid_callback_url', 'callback_url', 400]);
  return error.message;
}

describe('accepted', () => {
  const good = [
    'https://example.org',
    'https://EXAMPLE.org:8443/hook?token=a%20b',
    'https://hooks.example.org./x',
    'https://93.184.215.14/',
    'https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/',
    'https://xn--bcher-kva.example.org/',
  ];
  for (const url of good) test(url, async () => assert.equal(await check(url), new URL(url).href));

  test('a fragment is dropped', async () =>
    assert.equal(await check('https://example.org/a#b'), 'https://example.org/a'));
  test('a name that does not resolve now', async () => void (await check('https://example.org/', to())));
  test('name servers that fail', async () =>
    void (await check('https://example.org/', async () => Promise.reject(new Error('SERVFAIL')))));
  test('a private receiver that the operator allows', async () => {
    await check('https://10.1.2.3/', publicly, { allowCidrs: ['10.1.0.0/16'] });
    await check('https://hooks.internal/', to('10.1.2.3'), { allowHosts: ['hooks.internal'] });
  });
});

test('a private address is refused with the settings that allow it, by its text or by its name', async () => {
  const message =
    'callback_url is refused: only addresses on the public internet are allowed. callbacks.allow_hosts and allow_cidrs in the configuration allow others.';
  assert.equal(await messageOf(check('https://10.0.0.1/')), message);
  assert.equal(await messageOf(check('https://example.org/', to('10.0.0.1'))), message);
  assert.doesNotMatch(await messageOf(check('http://example.org/')), /callbacks/, 'no setting allows http');
});

describe('refused', () => {
  const bad = [
    ...['http://example.org/', 'ftp://example.org/', 'javascript:alert(1)', '', '//example.org', 'https:/example.org'],
    ...[
      'https://user@example.org/',
      'https://example.org\\@127.0.0.1/',
      'https://exa\tmple.org/',
      ' https://example.org',
    ],
    ...['https://127.0.0.1/', 'https://2130706433/', 'https://0x7f.1/', 'https://017700000001/', 'https://127.1/'],
    ...['https://[::1]/', 'https://[::ffff:127.0.0.1]/', 'https://[64:ff9b::7f00:1]/', 'https://[fd00:ec2::254]/'],
    ...['https://169.254.169.254/', 'https://168.63.129.16/', 'https://100.100.100.200/', 'https://0/'],
    ...[
      'https://localhost/',
      'https://intranet/',
      'https://metadata.google.internal/',
      'https://host.docker.internal/',
    ],
    ...['https://example.org:22/', 'https://example.org:0/', 'https://example.org:99999/', 'https://１２７.0.0.1/'],
    `https://example.org/${'x'.repeat(2048)}`,
  ];
  for (const url of bad) {
    test(JSON.stringify(url.slice(0, 60)), async () => {
      const message = await messageOf(check(url));
      assert.doesNotMatch(message, /127\.0\.0\.1|169\.254|10\./);
    });
  }

  test('whatever resolves to a private address, with one text for all', async () => {
    const answers = [
      ['127.0.0.1'],
      ['93.184.215.14', '10.0.0.1'],
      ['93.184.215.14', '::1'],
      ['::ffff:10.0.0.1'],
      ['junk'],
    ];
    const messages = await Promise.all(
      answers.map((answer) => messageOf(check('https://example.org/', to(...answer)))),
    );
    messages.push(await messageOf(check('https://127.0.0.1/')), await messageOf(check('https://localhost/')));
    assert.deepEqual([...new Set(messages)].length, 1, messages.join('\n'));
  });

  test('this machine, by its addresses and by its public name', async () => {
    const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    for (const { address, family } of own.filter(({ scopeid }) => !scopeid)) {
      await messageOf(check(`https://${family === 'IPv6' ? `[${address}]` : address}/`));
      await messageOf(check('https://example.org/', to(address)));
    }
    await messageOf(check('https://GATE.example.org/', publicly, { denyHosts: ['gate.example.org'] }));
    await check('https://gate.example.org/', publicly, {
      ...{ denyHosts: ['gate.example.org'], allowHosts: ['gate.example.org'] },
    });
  });

  test('ranges that the operator closes', async () => {
    await messageOf(check('https://example.org/', to('161.26.0.10'), { denyCidrs: ['161.26.0.0/16'] }));
  });
});

describe('of several rules that fit', () => {
  const denyCidrs = ['10.1.0.0/16'];
  const allowCidrs = ['10.0.0.0/8'];
  const closed = to('10.1.2.3');

  test('an allowed name comes before all others', async () => {
    const rules = { allowHosts: ['hooks.internal'], denyHosts: ['hooks.internal'], denyCidrs, allowCidrs };
    await check('https://hooks.internal/', closed, rules);
    await check('https://10.1.2.3/', publicly, { ...rules, allowHosts: ['10.1.2.3'] });
  });

  test('a denied name comes before ranges', async () => {
    await messageOf(
      check('https://gate.example.org/', to('10.2.0.1'), { denyHosts: ['gate.example.org'], allowCidrs }),
    );
  });

  test('denied ranges come before allowed ones, for names and for literals', async () => {
    await messageOf(check('https://example.org/', closed, { denyCidrs, allowCidrs }));
    await messageOf(check('https://example.org/', to('10.2.0.1', '10.1.2.3'), { denyCidrs, allowCidrs }));
    await messageOf(check('https://10.1.2.3/', publicly, { denyCidrs, allowCidrs }));
    await check('https://example.org/', to('10.2.0.1'), { denyCidrs, allowCidrs });
    await messageOf(check('https://example.org/', closed, { denyCidrs: allowCidrs, allowCidrs: denyCidrs }));
  });

  test('an allowed range allows addresses, not names that are private', async () => {
    await check('https://10.2.0.1/', publicly, { allowCidrs });
    for (const name of ['hooks.internal', 'hooks', 'localhost'])
      await messageOf(check(`https://${name}/`, to('10.2.0.1'), { allowCidrs }));
  });
});
