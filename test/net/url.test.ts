/** URL validation: local hosts in all notations, and text that two parsers read differently. */

import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, test } from 'node:test';
import { createAddressPolicy } from '../../src/net/address-policy.ts';
import { checkUrl } from '../../src/net/check-url.ts';

const ATTACKS = [
  ...[
    'https://2130706433/',
    'https://017700000001/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://127.1/',
    'https://127.0.1/',
  ],
  ...[
    'https://127.0.0.1./',
    'https://127.0.0.1../',
    'https://１２７.０.０.１/',
    'https://①②⑦.⓪.⓪.①/',
    'https://127。0。0。1/',
    'https://%31%32%37%2e0.0.1/',
  ],
  ...[
    'https://0/',
    'https://0x/',
    'https://0300.0250.0.1/',
    'https://127.0.0.1/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest',
  ],
  ...[
    'https://ｌｏｃａｌｈｏｓｔ/',
    'https://loc\u00adalhost/',
    'https://loc\u200balhost/',
    'https://localhoſt/',
    'https://ⓛocalhost/',
    'https://lo%63alhost/',
  ],
  ...[
    'https://LOCALHOST/',
    'https://localhost./',
    'https://localhost:8443/',
    'https://a.localhost/',
    'https://intranet/',
  ],
  ...[
    'https://printer.local/',
    'https://x.localdomain/',
    'https://metadata.google.internal/',
    'https://wiki.corp/',
    'https://nas.home/',
  ],
  ...[
    'https://router.lan/',
    'https://a.home.arpa/',
    'https://1.0.0.127.in-addr.arpa/',
    'https://x.onion/',
    'https://x.alt/',
  ],
  ...[
    'https://kubernetes.default.svc/',
    'https://api.default.svc.cluster.local/',
    'https://a.test/',
    'https://a.example/',
    'https://a.invalid/',
  ],
  ...['https://host.docker.internal/', 'https://a.private/', 'https://a.intranet/', 'https://printer.LOCAL./'],
  ...[
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[0:0:0:0:0:ffff:7f00:0001]/',
  ],
  ...[
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::169.254.169.254]/',
    'https://[64:ff9b::a9fe:a9fe]/',
    'https://[fe80::1]/',
    'https://[fc00::1]/',
  ],
  ...[
    'https://[fe80::1%25eth0]/',
    'https://[2002:7f00:1::]/',
    'https://[::5efe:7f00:1]/',
    'https://168.63.129.16/',
    'https://100.100.100.200/',
  ],
  ...[
    'https:\\\\127.0.0.1\\x',
    'https:/127.0.0.1/',
    'https:127.0.0.1/',
    'https:///127.0.0.1/',
    ' https://127.0.0.1/ ',
    'ht\ntps://127.0.0.1/',
  ],
  ...[
    'https://example.com\\@127.0.0.1/',
    'https://127.0.0.1\\@example.com/',
    'https://google.com@127.0.0.1/',
    'https://user:pass@example.com/',
  ],
  ...[
    'https://@example.com/',
    'https://127.0.0.1#@example.com/',
    'https://127.0.0.1?@example.com/',
    'https://exa\tmple.com/',
    'https://example.com/a\r\nb',
  ],
  ...[
    'https://425.510.425.510/',
    'https://1.2.3.4.5/',
    'https://0x100000000/',
    'https://08.8.8.8/',
    'https://foo.09/',
    'https://foo.0x4/',
  ],
  ...[
    'https://ex..ample.com/',
    'https://.example.com/',
    'https://-a.b.com/',
    'https://*.example.com/',
    `https://${'a'.repeat(64)}.com/`,
  ],
  ...[
    `https://${'a.'.repeat(130)}com/`,
    'https://example.com:0/',
    'https://example.com:70000/',
    'https://example.com:22/',
    'https://example.com:6667/',
  ],
  ...[
    'https://134744072/',
    'https://0x08080808/',
    'https://bücher.com/',
    'https://%65xample.com/',
    'https://exam ple.com/',
    'https://%00/',
  ],
  ...[
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
    'data:text/plain,x',
    'javascript:1',
    '//example.com/',
  ],
  ...['', 'example.com', 'https://', 'https:///', 'https://?', 'https://#', 'https://[::1', 'https://[]/'],
];

const GOOD = [
  ...[
    'https://example.com/',
    'https://example.com',
    'https://EXAMPLE.com/A',
    'HTTPS://example.com/',
    'https://example.com./',
    'https://a_b.example.com/',
  ],
  ...[
    'https://example.com:8443/x',
    'https://example.com:443/',
    'https://8.8.8.8/',
    'https://1.1.1.1:8080/',
    'https://[2606:4700:4700::1111]/',
  ],
  ...[
    'https://[2606:4700:4700::1111]:8443/x',
    'https://[64:ff9b::808:808]/',
    'https://xn--bcher-kva.example.com/',
    'https://example.com/?a=b%20c@d',
  ],
  ...[
    'https://example.com/a@b',
    'https://example.com/ü',
    'https://127.0.0.1.nip.io/',
    'https://localhost.example.com/',
    'https://internal.example.com/',
  ],
  ...['https://test.com/', 'https://mylocal.net/', 'https://notlocalhost.com/', 'https://9.9.9.9.example.org/'],
];

describe('checkUrl', () => {
  test('refuses every attack', () => {
    for (const text of ATTACKS) assert.throws(() => checkUrl(text), { code: 'invalid_request' }, JSON.stringify(text));
  });

  test('accepts public addresses', () => {
    for (const text of GOOD) assert.equal(checkUrl(text).href, new URL(text).href);
  });

  test('drops the fragment', () => {
    assert.equal(checkUrl('https://example.com/a#b').href, 'https://example.com/a');
  });

  test('names the allowed URLs in its error', () => {
    const messageOf = (text: string) => {
      try {
        return checkUrl(text).href;
      } catch (error) {
        return (error as Error).message;
      }
    };
    assert.equal(messageOf('http://example.com/'), 'only https addresses on the public internet are allowed.');
    assert.equal(messageOf('https://10.0.0.1/'), 'only addresses on the public internet are allowed.');
    assert.equal(messageOf('https://a@example.com/'), 'user names and passwords are not allowed in a URL.');
    assert.equal(messageOf('https://example.com:25/'), 'port 25 is not allowed.');
  });
});

describe('address policy', () => {
  const open = createAddressPolicy({ allowCidrs: ['127.0.0.0/8', '::1'], allowHosts: ['Receiver'], allowHttp: true });

  test('allows the addresses of the operator', () => {
    for (const text of [
      'https://127.0.0.1:8443/',
      'http://127.9.9.9/',
      'https://[::1]/',
      'https://receiver/',
      'http://RECEIVER./x',
    ]) {
      assert.ok(checkUrl(text, open));
    }
  });

  test('allows no other private addresses', () => {
    for (const text of [
      'https://10.0.0.1/',
      'https://localhost/',
      'https://receiver.local/',
      'https://127.1/',
      'https://a@receiver/',
      'ftp://receiver/',
    ]) {
      assert.throws(() => checkUrl(text, open), { code: 'invalid_request' }, text);
    }
  });

  test('refuses the denied addresses of the operator, also within allowed ones', () => {
    const closed = createAddressPolicy({
      allowCidrs: ['10.0.0.0/8'],
      denyCidrs: ['8.8.0.0/16', '10.1.0.0/16'],
      denyHosts: ['gateway.example.com'],
    });
    assert.ok(checkUrl('https://10.2.0.1/', closed));
    for (const text of [
      'https://8.8.8.8/',
      'https://10.1.0.1/',
      'https://gateway.example.com/',
      'https://Gateway.example.com./',
    ]) {
      assert.throws(() => checkUrl(text, closed), { code: 'invalid_request' }, text);
    }
  });

  test('refuses the addresses of this machine', () => {
    for (const entry of Object.values(networkInterfaces()).flat()) {
      const host = entry?.family === 'IPv6' ? `[${entry.address}]` : entry?.address;
      assert.throws(() => checkUrl(`https://${host}/`), { code: 'invalid_request' });
    }
  });

  test('throws for a malformed range and names it', () => {
    assert.throws(() => createAddressPolicy({ allowCidrs: ['localhost'] }), /"localhost" is not an address range/);
  });
});
