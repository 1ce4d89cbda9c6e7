/** Parser of HTTP/1.1 responses: whole, in every cut and with pauses, beside that of Node, and what it refuses. */

import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import { ResponseParser } from '../../src/transport/http1/response-parser.ts';
import { checkAnyChunks, cut } from '../http1/cuts.ts';
import { MALFORMED_CHUNKS } from '../http1/malformed-chunks.ts';
import { startPlain } from '../net/servers.ts';

interface Seen {
  status: number;
  headers: Record<string, string | undefined>;
  body: string;
  trailers: Record<string, unknown>;
  isReusable: boolean;
}

/** Collects a response; `onEvent` is called at each event. */
function collector(onEvent: (parser: ResponseParser) => void = () => {}) {
  const seen: { head?: [number, Record<string, string | undefined>]; chunks: Buffer[]; end?: Seen } = { chunks: [] };
  const parser: ResponseParser = new ResponseParser({
    head(status, headers) {
      assert.equal(seen.head, undefined);
      seen.head = [status, headers];
      onEvent(parser);
    },
    data(chunk) {
      assert.ok(seen.head && !seen.end && chunk.length > 0);
      seen.chunks.push(Buffer.from(chunk));
      onEvent(parser);
    },
    end(trailers = {}) {
      assert.ok(seen.head && !seen.end);
      const [status, headers] = seen.head;
      const body = Buffer.concat(seen.chunks).toString('latin1');
      seen.end = { status, headers, body, trailers, isReusable: parser.isReusable };
    },
  });
  parser.start();
  return { parser, seen };
}

/** Reads the pieces, and then that the connection is closed. */
function parse(pieces: readonly Buffer[]): Seen | undefined {
  const { parser, seen } = collector();
  for (const piece of pieces) parser.read(Buffer.from(piece));
  parser.close();
  return seen.end;
}

const head = (...fields: string[]) => ['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n');
const chunked = (rest: string, ...fields: string[]) => head('Transfer-Encoding: chunked', ...fields) + rest;

const VALID: Record<string, [text: string, expected: Partial<Seen>]> = {
  'a length': [`${head('Content-Length: 5', 'X-A:  b\t ')}hello`, { body: 'hello', isReusable: true }],
  'a length of zero': [head('content-length: 0'), { body: '', isReusable: true }],
  'no length': [`${head('content-type: text/plain')}until the end`, { body: 'until the end', isReusable: false }],
  'no length and nothing': [head(), { body: '', isReusable: false }],
  'no content': ['HTTP/1.1 204 No Content\r\nx: y\r\n\r\n', { status: 204, isReusable: true }],
  'no content, but a length': [
    'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n',
    { status: 204, isReusable: false },
  ],
  'no content, but chunks': [
    'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n',
    { status: 204, isReusable: false },
  ],
  'no content, and a length of zero': [
    'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
    { status: 204, isReusable: true },
  ],
  'not modified, with the length of what it is': [
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n',
    { status: 304, body: '', isReusable: true },
  ],
  'no reason': ['HTTP/1.1 404\r\nContent-Length: 1\r\n\r\nx', { status: 404, body: 'x' }],
  'an old version': ['HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab', { body: 'ab', isReusable: false }],
  'a connection that is closed': [`${head('Content-Length: 1', 'Connection: x, Close')}a`, { isReusable: false }],
  'two fields of a name': [
    head('A: 1', 'a: 2', 'Connection: keep-alive', 'Connection: close', 'Content-Length: 0'),
    {},
  ],
  chunks: [chunked('5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'), { body: 'hello world', isReusable: true }],
  'no chunks': [chunked('0\r\n\r\n'), { body: '', isReusable: true }],
  'sizes with letters and zeros': [chunked(`0000001A\r\n${'a'.repeat(26)}\r\na\r\n0123456789\r\n00\r\n\r\n`), {}],
  'chunk extensions': [chunked('3;a=b;c="d e"\r\nabc\r\n0;last\r\n\r\n'), { body: 'abc' }],
  'quotes in a chunk extension': [
    chunked('1;a=b;c="\\"d\\\\";e=""\r\na\r\n2;g="h"\r\nbc\r\n0\r\n\r\n'),
    { body: 'abc' },
  ],
  trailers: [
    chunked('1\r\na\r\n0\r\nX-Sum: 1\r\nx-more: 2\r\n\r\n', 'Trailer: X-Sum'),
    { body: 'a', trailers: { 'x-sum': '1', 'x-more': '2' }, isReusable: true },
  ],
  'line ends in the body': [chunked('8\r\n\r\n\r\n0\r\n\r\r\n0\r\n\r\n'), { body: '\r\n\r\n0\r\n\r' }],
  'interim responses': [
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${head('Content-Length: 2')}ok`,
    { status: 200, body: 'ok', isReusable: true },
  ],
  'bytes above ASCII': [`${head('X: \xe9', 'Content-Length: 2')}\xff\x00`, { body: '\xff\x00' }],
};

for (const [about, [text, expected]] of Object.entries(VALID)) {
  describe(`a response with ${about}`, () => {
    const bytes = Buffer.from(text, 'latin1');
    const whole = parse([bytes]);

    test('is read', () => {
      assert.ok(whole);
      for (const [name, value] of Object.entries(expected)) assert.deepEqual(whole[name as keyof Seen], value, name);
    });

    test('is the same in every cut', () => {
      for (let at = 0; at <= bytes.length; at++) {
        assert.deepEqual(parse([bytes.subarray(0, at), bytes.subarray(at)]), whole, `cut at ${at}`);
      }
      for (const size of [1, 2, 3, 7]) assert.deepEqual(parse(cut(bytes, size)), whole, `pieces of ${size}`);
    });

    test('is read by Node in the same way', async () => {
      const { headers, status, body, trailers } = await readByNode(bytes);
      for (const [name, value] of Object.entries(whole?.headers ?? {})) {
        // Node joins values, the gateway takes the first.
        if (headers[name] !== value) assert.equal(String(headers[name]).split(',')[0], value?.split(',')[0]);
      }
      assert.deepEqual(
        { status, body, trailers },
        { status: whole?.status, body: whole?.body, trailers: whole?.trailers },
      );
    });

    test('is the same with a pause at each event', () => {
      for (const size of [1, 4, bytes.length]) {
        const { parser, seen } = collector((own) => own.pause());
        for (const piece of cut(bytes, size)) {
          const before = seen.chunks.length;
          parser.read(Buffer.from(piece));
          assert.ok(seen.chunks.length <= before + 1);
        }
        for (let turn = 0; turn < 100 && !seen.end; turn++) parser.resume();
        parser.close();
        assert.deepEqual({ ...seen.end, isReusable: true }, { ...whole, isReusable: true });
      }
    });
  });
}

async function readByNode(bytes: Buffer): Promise<Omit<Seen, 'isReusable'>> {
  const server = await startPlain((socket) => void socket.once('data', () => socket.end(bytes)));
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get({ port: server.port, agent: false }, resolve).on('error', reject);
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const { statusCode: status = 0, trailers } = response;
    const body = Buffer.concat(chunks).toString('latin1');
    return { status, headers: response.headers as Seen['headers'], body, trailers: { ...trailers } };
  } finally {
    await server.close();
  }
}

test('any content in any chunks and any cuts arrives as it was sent', () => {
  checkAnyChunks(chunked(''), (pauses) => {
    const { parser, seen } = collector((own) => pauses && own.pause());
    return {
      parser,
      body() {
        if (seen.end) assert.equal(seen.end.isReusable, true);
        return seen.end?.body;
      },
    };
  });
});

const INVALID: Record<string, string> = {
  'no HTTP': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
  'another version': 'HTTP/2 200 OK\r\n\r\n',
  'no status': 'HTTP/1.1 OK\r\n\r\n',
  'a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
  'a status that begins with zero': 'HTTP/1.1 099 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  'an empty line before it': `\r\n${head('Content-Length: 0')}`,
  'line feeds alone': 'HTTP/1.1 200 OK\nContent-Length: 0\n\n\r\n\r\n',
  'a line feed in the first line': 'HTTP/1.1 200 O\nK\r\nContent-Length: 0\r\n\r\n',
  'a line feed in a field': head('A: b\nContent-Length: 5', 'Content-Length: 0'),
  'a carriage return in a field': head('A: b\rContent-Length: 5', 'Content-Length: 0'),
  'NUL in a field': head('A: b\0', 'Content-Length: 0'),
  'a folded field': head('A: b', ' c', 'Content-Length: 0'),
  'a space before the colon': head('Content-Length : 0'),
  'a field without a colon': head('Content-Length: 0', 'nothing'),
  'a field without a name': head('Content-Length: 0', ': nothing'),
  'a length twice': `${head('Content-Length: 1', 'Content-Length: 1')}a`,
  'two lengths in one field': `${head('Content-Length: 1, 1')}a`,
  'a negative length': head('Content-Length: -1'),
  'a length with a sign': `${head('Content-Length: +1')}a`,
  'a hexadecimal length': `${head('Content-Length: 0x1')}a`,
  'an empty length': head('Content-Length:'),
  'a length beyond what a number represents': head('Content-Length: 9999999999999999'),
  'a length and chunks': `${head('Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  'another transfer coding': `${head('Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
  'a transfer coding twice': `${head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
  'chunks in an old version': 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'another protocol': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
  ...Object.fromEntries(Object.entries(MALFORMED_CHUNKS).map(([fault, chunks]) => [fault, chunked(chunks)])),
  'fields without an end': head(`A: ${'a'.repeat(20_000)}`),
  'trailers without an end': chunked(`0\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`),
  'extensions without an end': chunked(`1;${'e'.repeat(10_000)}\r\na\r\n1;${'e'.repeat(10_000)}\r\na\r\n0\r\n\r\n`),
  'interim responses without an end': 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(200),
  'less than its length': `${head('Content-Length: 5')}hell`,
  'a chunk that ends early': chunked('5\r\nhell'),
  'no last chunk': chunked('5\r\nhello\r\n'),
  'no end of trailers': chunked('0\r\n'),
  'no end of its head': 'HTTP/1.1 200 OK\r\n',
};

for (const [about, text] of Object.entries(INVALID)) {
  test(`a response with ${about} is refused`, () => {
    const bytes = Buffer.from(text, 'latin1');
    for (const size of [bytes.length, 1, 5]) {
      assert.throws(
        () => parse(cut(bytes, size)),
        (error) => error instanceof GatewayError && error.code === 'upstream_error' && /response/.test(error.message),
        `in pieces of ${size}`,
      );
    }
  });
}

test('content that came before an error is handed over', () => {
  const { parser, seen } = collector();
  assert.throws(() => parser.read(Buffer.from(chunked('5\r\nhello\r\nbroken'))));
  assert.equal(Buffer.concat(seen.chunks).toString(), 'hello');
});

test('after more than was asked for, no other request follows', () => {
  for (const [text, isReusable] of [
    [`${head('Content-Length: 2')}ab`, true],
    [`${head('Content-Length: 2')}abc`, false],
    [`${chunked('0\r\n\r\n')}HTTP/1.1 200 OK\r\n`, false],
    [`${head('Content-Length: 0')}x`, false],
  ] as const) {
    assert.equal(parse([Buffer.from(text)])?.isReusable, isReusable, text);
  }
});

test('the time for which a server keeps a connection is read', () => {
  for (const [field, seconds] of [
    ['timeout=5, max=100', 5],
    ['max=100,timeout=65', 65],
    ['Timeout=7', 7],
    ['max=5', undefined],
    ['xtimeout=5', undefined],
  ] as const) {
    const { parser } = collector();
    parser.read(Buffer.from(head(`Keep-Alive: ${field}`, 'Content-Length: 0')));
    assert.equal(parser.keepAliveSeconds, seconds, field);
  }
});

test('a head in single bytes takes no longer than its length allows', () => {
  const bytes = Buffer.from(head(`A: ${'a'.repeat(15_000)}`, 'Content-Length: 0'));
  const began = process.cpuUsage();
  for (let round = 0; round < 5; round++) assert.ok(parse(cut(bytes, 1)));
  const { user, system } = process.cpuUsage(began);
  assert.ok((user + system) / 1000 < 2000, `${(user + system) / 1000} ms`);
});
