/** Address classification: all special blocks, all IPv4-in-IPv6 forms, and their notations. */

import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { contains, isPublic, parseAddress, parseRange } from '../../src/net/public-addresses.ts';

function verdict(text: string): boolean {
  const address = parseAddress(text);
  assert.ok(address, `${text} is an address`);
  return isPublic(address);
}

const quad = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
const dotted = quad.map((bytes) => bytes.join('.'));

const BLOCKS: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

function numberOf(text: string): number {
  return text.split('.').reduce((total, part) => total * 256 + Number(part), 0);
}

function textOf(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

describe('IPv4', () => {
  for (const [start, bits] of BLOCKS) {
    test(`${start}/${bits} is not public from its first address to its last`, () => {
      const first = numberOf(start);
      const last = first + 2 ** (32 - bits) - 1;
      for (const value of [first, Math.floor((first + last) / 2), last]) assert.equal(verdict(textOf(value)), false);
    });
  }

  test('the addresses next to the blocks are public', () => {
    for (const text of [
      ...[
        '1.0.0.0',
        '1.1.1.1',
        '8.8.8.8',
        '9.255.255.255',
        '11.0.0.0',
        '100.63.255.255',
        '100.128.0.0',
        '126.255.255.255',
      ],
      ...[
        '128.0.0.0',
        '168.63.129.15',
        '168.63.129.17',
        '169.253.255.255',
        '169.255.0.0',
        '172.15.255.255',
        '172.32.0.0',
      ],
      ...['192.0.1.0', '192.0.3.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '203.0.112.255'],
      ...['203.0.114.0', '223.255.255.255'],
    ]) {
      assert.equal(verdict(text), true, text);
    }
  });

  test('any address has the same result as in a BlockList of Node', () => {
    const list = new BlockList();
    for (const [start, bits] of BLOCKS) list.addSubnet(start, bits);
    fc.assert(
      fc.property(dotted, (text) => verdict(text) === !list.check(text)),
      { numRuns: 2000 },
    );
  });
});

describe('cloud metadata services', () => {
  for (const text of [
    ...['169.254.169.254', '169.254.170.2', '169.254.170.23', '169.254.0.23', '169.254.169.250', '100.100.100.200'],
    ...['192.0.0.192', '168.63.129.16', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'],
  ]) {
    test(text, () => assert.equal(verdict(text), false));
  }
});

describe('IPv6', () => {
  for (const text of [
    ...[
      '::',
      '::1',
      '::127.0.0.1',
      '::7f00:1',
      '::a9fe:a9fe',
      '::8.8.8.8',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '1::1',
    ],
    ...[
      '::ffff:0:127.0.0.1',
      '::ffff:0:7f00:1',
      '::5efe:7f00:1',
      '64:ff9b:1::7f00:1',
      '64:ff9b::127.0.0.1',
      '64:ff9b::a9fe:a9fe',
    ],
    ...[
      '100::1',
      '100:0:0:1::1',
      '2001::1',
      '2001:0:4136:e378:8000:63bf:3fff:fdd2',
      '2001:2::1',
      '2001:10::1',
      '2001:20::1',
    ],
    ...[
      '2001:1::1',
      '2001:db8::1',
      '2002:7f00:1::',
      '2002:808:808::1',
      '2620:4f:8000::1',
      '3fff::1',
      '3fff:fff::1',
      '5f00::1',
    ],
    ...['fc00::1', 'fd12:3456::1', 'fe80::1', 'febf::1', 'fec0::1', 'ff02::1', 'ff0e::1', '4000::1'],
    ...['2606:4700::5efe:127.0.0.1', '2606:4700::200:5efe:10.0.0.1', '2606:4700::5efe:a9fe:a9fe'],
  ]) {
    test(`${text} is not public`, () => assert.equal(verdict(text), false));
  }

  for (const text of [
    ...['2606:4700:4700::1111', '2001:4860:4860::8888', '2001:200::1', '2a00:1450::1', '2620:4f:8001::1', '3ffe::1'],
    ...['64:ff9b::8.8.8.8', '64:ff9b::808:808', '2606:4700::5efe:8.8.8.8', '2606:4700::100:5efe:127.0.0.1'],
  ]) {
    test(`${text} is public`, () => assert.equal(verdict(text), true));
  }

  const carriers: Record<string, (text: string) => string> = {
    mapped: (text) => `::ffff:${text}`,
    compatible: (text) => `::${text}`,
    translated: (text) => `::ffff:0:${text}`,
    'local NAT64': (text) => `64:ff9b:1::${text}`,
    '6to4': (text) => `2002:${hex(text)}::1`,
    Teredo: (text) => `2001:0:${hex(text)}::1`,
  };
  for (const [name, carry] of Object.entries(carriers)) {
    test(`no IPv4 address passes as ${name}`, () => {
      fc.assert(fc.property(dotted, (text) => !verdict(carry(text))));
    });
  }

  const judged: Record<string, (text: string) => string> = {
    NAT64: (text) => `64:ff9b::${text}`,
    ISATAP: (text) => `2606:4700::5efe:${text}`,
    'universal ISATAP': (text) => `2606:4700::200:5efe:${text}`,
  };
  for (const [name, carry] of Object.entries(judged)) {
    test(`an IPv4 address in ${name} is classified by the IPv4 rules`, () => {
      fc.assert(fc.property(dotted, (text) => verdict(carry(text)) === verdict(text)));
    });
  }

  function hex(text: string): string {
    const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
});

describe('notation', () => {
  test('only canonical dotted quads are IPv4 addresses', () => {
    for (const text of [
      '',
      '1',
      '127.1',
      '1.2.3',
      '1.2.3.4.5',
      '01.2.3.4',
      '0x7f.0.0.1',
      '256.1.1.1',
      '1.2.3.4 ',
      '１.2.3.4',
      '1..2.3',
    ]) {
      assert.equal(parseAddress(text), undefined, text);
    }
  });

  test('zones, short and overlong forms are not IPv6 addresses', () => {
    for (const text of [
      'fe80::1%eth0',
      ':',
      ':::',
      '1::2::3',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '12345::',
      '::1.2.3',
      '1.2.3.4::',
    ]) {
      assert.equal(parseAddress(text), undefined, text);
    }
    assert.equal(parseAddress('1:2:3:4::5:6:7:8'), undefined);
    assert.equal(parseAddress('::1.2.3.4:5'), undefined);
  });

  test('every notation of sixteen bytes is parsed to those bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const groups = Array.from(
          { length: 8 },
          (_, index) => ((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0),
        );
        const plain = groups.map((group) => group.toString(16)).join(':');
        const short = new URL(`https://[${plain}]/`).hostname.slice(1, -1);
        const mixed = `${plain.split(':').slice(0, 6).join(':')}:${bytes.subarray(12).join('.')}`;
        for (const text of [plain, plain.toUpperCase(), short, mixed]) assert.deepEqual(parseAddress(text), bytes);
      }),
    );
  });

  test('ranges cover exactly their prefix', () => {
    const range = parseRange('192.0.2.128/25');
    const inside = (text: string) => contains(range, parseAddress(text) as Uint8Array);
    assert.deepEqual(['192.0.2.127', '192.0.2.128', '192.0.2.255', '::1'].map(inside), [false, true, true, false]);
    assert.equal(parseRange('::1').bits, 128);
    for (const text of [
      '',
      'example.com',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '10/8',
      '::/129',
      '10.0.0.0/-1',
    ]) {
      assert.throws(() => parseRange(text), { code: 'invalid_request' }, text);
    }
  });
});
