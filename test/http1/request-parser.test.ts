/** Parser of requests: whole, in every cut and with pauses, beside that of Node, and what it refuses. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../src/core/errors.ts';
import { type ParsedHead, RequestParser } from '../../src/http1/request-parser.ts';
import { checkAnyChunks, cut } from './cuts.ts';
import { MALFORMED_CHUNKS } from './malformed-chunks.ts';

interface Seen {
  method: string;
  url: string;
  isCurrent: boolean;
  headers: Record<string, string | undefined>;
  repeated: Record<string, readonly string[]>;
  body: string;
}

/** Collects requests one after the other; `onEvent` is called at each event. */
function collector(onEvent: (parser: RequestParser) => void = () => {}) {
  const seen: { requests: Seen[]; head?: ParsedHead; chunks: Buffer[]; events: number } = {
    requests: [],
    chunks: [],
    events: 0,
  };
  function count(): void {
    seen.events++;
    onEvent(parser);
  }
  const parser: RequestParser = new RequestParser({
    head(head) {
      assert.equal(seen.head, undefined);
      seen.head = head;
      count();
    },
    data(chunk) {
      assert.ok(seen.head?.hasBody && chunk.length > 0);
      seen.chunks.push(Buffer.from(chunk));
      count();
    },
    end() {
      assert.ok(seen.head);
      const { method, url, isCurrent, headers, repeated = new Map(), hasBody } = seen.head;
      const body = Buffer.concat(seen.chunks).toString('latin1');
      if (!hasBody) assert.equal(body, '');
      seen.requests.push({
        method,
        url,
        isCurrent,
        headers: { ...headers },
        repeated: Object.fromEntries(repeated),
        body,
      });
      seen.head = undefined;
      seen.chunks = [];
      parser.start();
      count();
    },
  });
  parser.start();
  return { parser, seen };
}

/** The requests in the pieces, which have to be complete. */
function parse(pieces: readonly Buffer[]): Seen[] {
  const { parser, seen } = collector();
  for (const piece of pieces) parser.read(Buffer.from(piece));
  assert.equal(seen.head, undefined);
  return seen.requests;
}

const get = (...fields: string[]) => ['GET /a?b=c HTTP/1.1', 'Host: x', ...fields, '', ''].join('\r\n');
const post = (...fields: string[]) => ['POST /a HTTP/1.1', 'Host: x', ...fields, '', ''].join('\r\n');
const chunked = (rest: string, ...fields: string[]) => post('Transfer-Encoding: chunked', ...fields) + rest;

const VALID: Record<string, [text: string, expected: Partial<Seen>]> = {
  'no body': [get(), { method: 'GET', url: '/a?b=c', isCurrent: true, headers: { host: 'x' }, body: '' }],
  'a length': [`${post('Content-Length: 5', 'X-A:  b\t ')}hello`, { method: 'POST', body: 'hello' }],
  'a length of zero': [post('content-length: 0'), { body: '' }],
  'a length with zeros': [`${post('Content-Length: 0002')}ab`, { body: 'ab' }],
  'a body that looks like a request': [`${post('Content-Length: 32')}${get()}`, { body: get() }],
  'an old version': ['GET / HTTP/1.0\r\n\r\n', { isCurrent: false, headers: {} }],
  'an old version and a body': ['POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nab', { isCurrent: false, body: 'ab' }],
  'a method with a hyphen': ['M-SEARCH / HTTP/1.1\r\nHost: x\r\n\r\n', { method: 'M-SEARCH' }],
  'all of the server as its target': ['OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', { method: 'OPTIONS', url: '*' }],
  'an absolute target': ['GET http://x/a?b=http://y HTTP/1.1\r\nHost: x\r\n\r\n', { url: '/a?b=http://y' }],
  'an absolute target in capitals': ['GET HTTPS://[::1]:80/A HTTP/1.1\r\nHost: x\r\n\r\n', { url: '/A' }],
  'an absolute target without a path': ['GET http://x HTTP/1.1\r\nHost: x\r\n\r\n', { url: '/' }],
  'an absolute target with a query alone': ['GET http://x?a=/b HTTP/1.1\r\nHost: x\r\n\r\n', { url: '/?a=/b' }],
  'empty and odd values': [
    get('A:', 'B: ', 'C: a:b', 'D: "\t"', "!#$%&'*+-.^_`|~9: e"),
    {
      headers: { host: 'x', a: '', b: '', c: 'a:b', d: '"\t"', "!#$%&'*+-.^_`|~9": 'e' },
    },
  ],
  'bytes above ASCII': [`${post('X: \xe9', 'Content-Length: 2')}\xff\x00`, { body: '\xff\x00' }],
  'fields that are joined': [
    get('Accept: a', 'accept: b', 'Cookie: c=1', 'Cookie: d=2', 'ACCEPT: a'),
    {
      headers: { host: 'x', accept: 'a, b, a', cookie: 'c=1; d=2' },
      repeated: { accept: ['a', 'b', 'a'], cookie: ['c=1', 'd=2'] },
    },
  ],
  'fields of which the first counts': [
    get('Authorization: a', 'authorization: b', 'User-Agent: c', 'User-Agent: d', 'Host: y'),
    {
      headers: { host: 'x', authorization: 'a', 'user-agent': 'c' },
      repeated: { authorization: ['a', 'b'], 'user-agent': ['c', 'd'], host: ['x', 'y'] },
    },
  ],
  'names that every object has': [
    get('constructor: a', 'toString: b', 'hasOwnProperty: c', 'valueOf: d', 'valueOf: e'),
    {
      headers: { host: 'x', constructor: 'a', tostring: 'b', hasownproperty: 'c', valueof: 'd, e' } as never,
    },
  ],
  chunks: [chunked('5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'), { body: 'hello world' }],
  'chunks in other letters': [`${post('TRANSFER-ENCODING: Chunked')}1\r\na\r\n0\r\n\r\n`, { body: 'a' }],
  'no chunks': [chunked('0\r\n\r\n'), { body: '' }],
  'sizes with letters and zeros': [chunked(`0000001A\r\n${'a'.repeat(26)}\r\na\r\n0123456789\r\n00\r\n\r\n`), {}],
  'chunk extensions': [chunked('3;a=b;c="d e"\r\nabc\r\n0;last\r\n\r\n'), { body: 'abc' }],
  'quotes in a chunk extension': [
    chunked('1;a=b;c="\\"d\\\\";e=""\r\na\r\n2;g="h"\r\nbc\r\n0\r\n\r\n'),
    { body: 'abc' },
  ],
  'trailers, which are not read': [
    chunked('1\r\na\r\n0\r\nX-Sum: 1\r\nHost: y\r\n\r\n', 'Trailer: X-Sum'),
    { body: 'a' },
  ],
  'line ends in the body': [chunked('8\r\n\r\n\r\n0\r\n\r\r\n0\r\n\r\n'), { body: '\r\n\r\n0\r\n\r' }],
  'an empty line before it': [`\r\n${get()}`, { url: '/a?b=c' }],
};

for (const [about, [text, expected]] of Object.entries(VALID)) {
  describe(`a request with ${about}`, () => {
    const bytes = Buffer.from(text, 'latin1');
    const [whole, ...others] = parse([bytes]);

    test('is read', () => {
      assert.ok(whole);
      assert.deepEqual(others, []);
      for (const [name, value] of Object.entries(expected)) assert.deepEqual(whole[name as keyof Seen], value, name);
    });

    test('is the same in every cut', () => {
      for (let at = 0; at <= bytes.length; at++) {
        assert.deepEqual(parse([bytes.subarray(0, at), bytes.subarray(at)]), [whole], `cut at ${at}`);
      }
      for (const size of [1, 2, 3, 7]) assert.deepEqual(parse(cut(bytes, size)), [whole], `pieces of ${size}`);
    });

    test('is the same before and behind another one', () => {
      const other = Buffer.from(get('Other: 1'));
      for (const size of [1, 5, 1000]) {
        assert.deepEqual(parse(cut(Buffer.concat([bytes, other]), size)), [whole, ...parse([other])]);
        assert.deepEqual(parse(cut(Buffer.concat([other, bytes]), size)), [...parse([other]), whole]);
      }
    });

    test('is the same with a pause at each event', () => {
      for (const size of [1, 4, bytes.length]) {
        const { parser, seen } = collector((own) => own.pause());
        for (const piece of cut(bytes, size)) {
          const before = seen.events;
          parser.read(Buffer.from(piece));
          assert.ok(seen.events <= before + 1);
        }
        for (let turn = 0; turn < 100 && seen.requests.length === 0; turn++) parser.resume();
        assert.deepEqual(seen.requests, [whole]);
      }
    });

    test('is read by Node in the same way', async () => {
      assert.deepEqual(await readByNode(bytes), withoutRepeated(whole as Seen));
    });
  });
}

type NodeSeen = Omit<Seen, 'repeated'>;

function withoutRepeated({ repeated: _, ...rest }: Seen): NodeSeen {
  return rest;
}

let nodePort = 0;
const node = createServer({ requireHostHeader: false }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { method, url: target = '', httpVersion, headers } = request;
    // Node leaves the address in a target.
    const url = target.replace(/^https?:\/\/[^/?]+(?=([/?]|$))/i, (_, next) => (next === '/' ? '' : '/'));
    const isCurrent = httpVersion === '1.1';
    const body = Buffer.concat(chunks).toString('latin1');
    response.setHeader('seen', encodeURIComponent(JSON.stringify({ method, url, isCurrent, headers, body })));
    response.end();
  });
});

before(async () => {
  node.listen(0, '127.0.0.1');
  await once(node, 'listening');
  nodePort = (node.address() as AddressInfo).port;
});
after(() => node.close());

/** Time after which Node waits for more, and is not only slow. */
const NODE_PATIENCE_MS = 10_000;

/** Undefined for what Node refuses, or waits for more of. */
async function readByNode(bytes: Buffer): Promise<NodeSeen | undefined> {
  const socket = connect(nodePort, '127.0.0.1');
  let text = '';
  socket
    .setNoDelay()
    .setEncoding('latin1')
    .on('data', (part) => {
      text += part;
      socket.end();
    });
  socket.on('error', () => {}).write(bytes);
  const waited = setTimeout(() => socket.destroy(), NODE_PATIENCE_MS);
  await once(socket, 'close');
  clearTimeout(waited);
  const [, seen] = /\r\nseen: (.*)\r\n/i.exec(text) ?? [];
  return seen === undefined ? undefined : JSON.parse(decodeURIComponent(seen));
}

test('a request that is damaged is refused, or read as Node reads it', async () => {
  // Node also checks the names of extensions of chunks, which the gateway skips, and knows no tab behind `chunked`.
  const texts = Object.values(VALID).flatMap(([text]) => (text.includes(';a=b') ? [] : [text]));
  const odd = fc.constantFrom(
    ...'\r\n\0 :,0123456789aAx-\x7f\x80\xff"/\\'.split(''),
    '\r\n',
    '\n\n',
    '\r\n\r\n',
    '\r\n ',
  );
  const damage = fc.record({ at: fc.nat(400), removed: fc.nat(2), added: fc.oneof(odd, fc.constant('')) });
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...texts),
      fc.array(damage, { minLength: 1, maxLength: 3 }),
      async (text, damages) => {
        let damaged = text;
        for (const { at, removed, added } of damages) {
          const from = at % damaged.length;
          damaged = damaged.slice(0, from) + added + damaged.slice(from + removed);
        }
        const { parser, seen } = collector();
        let length = 0;
        try {
          while (seen.requests.length === 0 && length < damaged.length)
            parser.read(Buffer.from(damaged[length++] ?? '', 'latin1'));
        } catch (error) {
          assert.ok(error instanceof GatewayError);
          return;
        }
        const [first] = seen.requests;
        // Node knows a list of methods.
        if (!first || !['GET', 'POST', 'OPTIONS', 'M-SEARCH'].includes(first.method)) return;
        accepted++;
        assert.deepEqual(await readByNode(Buffer.from(damaged.slice(0, length), 'latin1')), withoutRepeated(first));
      },
    ),
    { numRuns: 2000 },
  );
  assert.ok(accepted > 200, `${accepted}`);
});

test('any content in any chunks and any cuts arrives as it was sent', () => {
  checkAnyChunks(chunked(''), (pauses) => {
    const { parser, seen } = collector((own) => pauses && own.pause());
    return { parser, body: () => seen.requests[0]?.body };
  });
});

const TOO_LARGE: Record<string, [text: string, code: string]> = {
  'a head without an end': [`${get().slice(0, -2)}A: ${'a'.repeat(17_000)}`, 'headers_too_large'],
  'a large head': [get(`A: ${'a'.repeat(17_000)}`), 'headers_too_large'],
  'a target without an end': [`GET /${'a'.repeat(17_000)}`, 'headers_too_large'],
  'large trailers': [chunked(`0\r\nA: ${'a'.repeat(17_000)}\r\n\r\n`), 'headers_too_large'],
  'large extensions': [chunked(`1;${'e'.repeat(9_000)}\r\na\r\n1;${'e'.repeat(9_000)}\r\na\r\n`), 'payload_too_large'],
};

const INVALID: Record<string, string> = {
  'no HTTP': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
  'a greeting of TLS': '\x16\x03\x01\x02\x00\x01\r\n\r\n',
  'another version': 'GET / HTTP/2.0\r\nHost: x\r\n\r\n',
  'a version of the future': 'GET / HTTP/1.2\r\nHost: x\r\n\r\n',
  'no version': 'GET /\r\nHost: x\r\n\r\n',
  'no target': 'GET  HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target that is no path': 'GET a HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target of another scheme': 'GET ftp://x/a HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target without an address': 'GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target with a user': 'GET http://u@x/a HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target of a tunnel': 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target that begins as a path of none': 'OPTIONS *a HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target with a space': 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target above ASCII': 'GET /\xe9 HTTP/1.1\r\nHost: x\r\n\r\n',
  'a target with a control character': 'GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n',
  'a tab in the request line': 'GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n',
  'a space before the method': ' GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  'a space behind the version': 'GET / HTTP/1.1 \r\nHost: x\r\n\r\n',
  'a method in small letters': 'get / HTTP/1.1\r\nHost: x\r\n\r\n',
  'a long method': `${'A'.repeat(30)} / HTTP/1.1\r\nHost: x\r\n\r\n`,
  'two empty lines before it': `\r\n\r\n${get()}`,
  'line feeds alone': 'GET / HTTP/1.1\nHost: x\n\n\r\n\r\n',
  'a line feed in the first line': 'GET /\n HTTP/1.1\r\nHost: x\r\n\r\n',
  'a line feed in a field': get('A: b\nContent-Length: 5'),
  'a carriage return in a field': get('A: b\rContent-Length: 5'),
  'NUL in a field': get('A: b\0'),
  'a folded field': get('A: b', ' c'),
  'a field that begins with a space': get(' A: b'),
  'a space before the colon': post('Content-Length : 0'),
  'a field without a colon': get('nothing'),
  'a field without a name': get(': nothing'),
  'a name with a space': get('A b: c'),
  'a name above ASCII': get('\xe9: c'),
  'a length twice': `${post('Content-Length: 1', 'Content-Length: 1')}a`,
  'two lengths in one field': `${post('Content-Length: 1, 1')}a`,
  'a negative length': post('Content-Length: -1'),
  'a length with a sign': `${post('Content-Length: +1')}a`,
  'a hexadecimal length': `${post('Content-Length: 0x1')}a`,
  'an empty length': post('Content-Length:'),
  'a length beyond what a number represents': post('Content-Length: 9999999999999999'),
  'a length and chunks': `${post('Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  'a length of zero and chunks': `${post('Transfer-Encoding: chunked', 'Content-Length: 0')}0\r\n\r\n`,
  'another transfer coding': `${post('Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
  'no transfer coding': `${post('Transfer-Encoding: identity')}`,
  'an empty transfer coding': `${post('Transfer-Encoding:')}`,
  'a transfer coding twice': `${post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  'a transfer coding twice in one field': `${post('Transfer-Encoding: chunked, chunked')}0\r\n\r\n`,
  'a transfer coding with a vertical tab': `${post('Transfer-Encoding: \x0bchunked')}0\r\n\r\n`,
  'chunks in an old version': 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ...Object.fromEntries(Object.entries(MALFORMED_CHUNKS).map(([fault, chunks]) => [fault, chunked(chunks)])),
};

for (const [about, [text, code]] of [
  ...Object.entries(INVALID).map(([about, text]): [string, [string, string]] => [about, [text, 'invalid_request']]),
  ...Object.entries(TOO_LARGE),
]) {
  test(`a request with ${about} is refused`, () => {
    const bytes = Buffer.from(text, 'latin1');
    for (const size of [bytes.length, 1, 5, 1000]) {
      assert.throws(
        () => parse(cut(bytes, size)),
        (error) => error instanceof GatewayError && error.code === code,
        `in pieces of ${size}`,
      );
    }
  });
}

test('a head of 16 KiB is read in every cut, and a larger one in none', () => {
  const frame = get('A: ').length;
  for (const [size, isRead] of [
    [16 * 1024 + 4, true],
    [16 * 1024 + 5, false],
  ] as const) {
    const bytes = Buffer.from(get(`A: ${'a'.repeat(size - frame)}`));
    assert.equal(bytes.length, size);
    for (const fromEnd of [0, 1, 2, 3, 4, 5, 100]) {
      const pieces = [bytes.subarray(0, size - fromEnd), bytes.subarray(size - fromEnd)];
      if (isRead) assert.equal(parse(pieces).length, 1, `${fromEnd}`);
      else assert.throws(() => parse(pieces), { code: 'headers_too_large' }, `${fromEnd}`);
    }
  }
});

test('extensions are counted for each request', () => {
  const text = chunked(`1;${'e'.repeat(9_000)}\r\na\r\n0\r\n\r\n`);
  assert.equal(parse([Buffer.from(text.repeat(3))]).length, 3);
});

test('lines that end with a line feed alone are refused without the end of the head', () => {
  const { parser } = collector();
  assert.throws(() => parser.read(Buffer.from('GET / HTTP/1.1\nHost: x\n\n')), { code: 'invalid_request' });
});

test('a greeting of another protocol is refused without a line end', () => {
  for (const text of ['\x16\x03\x01\x02\x00\x01', '\0', ' ', 'SSH-2.0', 'hello', `${'A'.repeat(21)}`, '\r\n{']) {
    for (const size of [text.length, 1])
      assert.throws(
        () => parse(cut(Buffer.from(text, 'latin1'), size)),
        { code: 'invalid_request', message: /request line/ },
        text,
      );
  }
});

test('a head, and trailers, may come byte by byte', () => {
  for (const text of [get(), `\r\n${get()}`, chunked('1\r\na\r\n0\r\nx-sum: 1\r\n\r\n').repeat(2)]) {
    const count = text.split('HTTP/1.1').length - 1;
    assert.equal(parse(cut(Buffer.from(text, 'latin1'), 1)).length, count, text);
  }
});

test('the path of a request that is refused can be read', () => {
  for (const [text, path] of [
    ['POST /v1/messages?a=b HTTP/1.1\r\nA: b\nc\r\n\r\n', '/v1/messages'],
    ['\r\nPOST /v1/messages HTTP/1.1\r\nA\r\n\r\n', '/v1/messages'],
    [`POST /v1/messages HTTP/1.1\r\nA: ${'a'.repeat(20_000)}`, '/v1/messages'],
    ['POST /v1/messages HT', '/v1/messages'],
    ['POST http://x/v1 HTTP/1.1\r\nA\r\n\r\n', '/v1'],
    ['GET http://x/a?b HTTP/1.1\r\nBad\r\n\r\n', '/a'],
    ['post https://x:1/a/b HT', '/a/b'],
    ['GET http://x HTTP/1.1\r\nBad\r\n\r\n', undefined],
    ['', undefined],
  ] as const) {
    const { parser } = collector();
    try {
      parser.read(Buffer.from(text));
    } catch {}
    assert.equal(parser.brokenPath, path, text.slice(0, 40));
  }
});

test('bytes behind a request that begin no other one are told', () => {
  for (const [behind, isGarbage] of [
    ['', false],
    ['\r\n', false],
    ['GET / HTTP/1.1\r\n', false],
    ['\r\nGET /', false],
    ['PO', false],
    ['x', true],
    ['hello there', true],
    ['{"a":1}', true],
  ] as const) {
    let isFollowedByGarbage: boolean | undefined;
    const parser: RequestParser = new RequestParser({
      head() {},
      data() {},
      end() {
        isFollowedByGarbage = parser.isFollowedByGarbage;
      },
    });
    parser.start();
    parser.read(Buffer.from(`${post('Content-Length: 2')}ab${behind}`));
    assert.equal(isFollowedByGarbage, isGarbage, behind);
  }
});

test('a part of the body is lent, and what is kept of a read has memory of its own', () => {
  const parts: Buffer[] = [];
  const parser = new RequestParser({ head() {}, data: (chunk) => parts.push(chunk), end() {} });
  const read = Buffer.alloc(64 * 1024);
  /** Puts bytes into the memory that the next ones come in, too. */
  const readNext = (text: string) => parser.read(read.subarray(0, read.write(text)));
  const first = `${post('Content-Length: 2')}ab`;
  const second = get('A: b');
  parser.start();
  // A head in two reads, and the start of another one behind the body.
  readNext(first.slice(0, 20));
  readNext(first.slice(20) + second.slice(0, 10));
  assert.deepEqual(
    parts.map(({ buffer }) => buffer === read.buffer),
    [true],
  );
  assert.equal(parser.kept.toString(), second.slice(0, 10));
  assert.equal(parser.kept.buffer.byteLength, 10);
  readNext(second.slice(10));
  assert.equal(parser.kept.toString(), second);
  assert.equal(parser.kept.buffer.byteLength, second.length);
});

test('a head in single bytes takes no longer than its length allows', () => {
  const bytes = Buffer.from(get(`A: ${'a'.repeat(15_000)}`));
  const pieces = cut(bytes, 1);
  const parsing: number[] = [];
  const copying: number[] = [];
  for (let round = 0; round < 5; round++) {
    parsing.push(processorTime(() => assert.equal(parse(pieces).length, 1)));
    copying.push(processorTime(() => void pieces.reduce((sum, piece) => Buffer.concat([sum, piece]))));
  }
  // What came is copied once for each piece, and looked at once: 1.2 to 1.9 times as long.
  const [least, leastCopying] = [Math.min(...parsing), Math.min(...copying)];
  assert.ok(least < 6 * leastCopying, `${least} us, ${leastCopying} us for the copies alone`);
});

/** Microseconds of the process. */
function processorTime(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return user + system;
}
