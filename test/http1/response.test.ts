/** Responses on connections of clients: framing of bodies, heads that are refused, backpressure, and their end. */

import assert from 'node:assert/strict';
import { type IncomingMessage, get as nodeGet } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServerResponse } from '../../src/http1/server-response.ts';
import { startServer } from './start-server.ts';
import { openWire } from './wire-client.ts';

/** Requests with a method and a version, of which the server responds to the first as told, and to others with `<next>`. */
async function ask(
  context: TestContext,
  write: (response: ServerResponse) => void,
  { method = 'GET', version = '1.1' } = {},
) {
  let isFirst = true;
  const server = await startServer((_request, response) => {
    if (isFirst) write(response);
    else {
      response.writeHead(200, { 'content-length': '6' });
      response.end(['<next>'], 6);
    }
    isFirst = false;
  });
  const client = openWire(server.port);
  context.after(async () => {
    client.socket.destroy();
    await server.close();
  });
  client.send(`${method} / HTTP/${version}\r\nHost: x\r\n${version === '1.0' ? 'Connection: keep-alive\r\n' : ''}\r\n`);
  return {
    client,
    /** The response, after which the connection serves another request. */
    async kept(): Promise<string> {
      client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      const text = await client.until('<next>');
      return text.slice(0, text.lastIndexOf('HTTP/1.1 200'));
    },
  };
}

const CHUNKS = (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/plain' });
  response.write(['ab', Buffer.from('cd')], 4);
  response.write(['e\u00e9'], 3);
  response.end(['f'], 1);
};

describe('a response', { timeout: 120_000 }, () => {
  test('without a length goes out in chunks, its head with the first of them', async (context) => {
    const text = await (await ask(context, CHUNKS)).kept();
    assert.match(text, /^HTTP\/1\.1 200 OK\r\ncontent-type: text\/plain\r\nDate: [^\r]+\r\n/);
    assert.match(text, /\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n3\r\ne\xc3\xa9\r\n1\r\nf\r\n0\r\n\r\n$/);
    assert.doesNotMatch(text, /content-length/i);
  });

  test('without a length ends with its connection for HTTP/1.0', async (context) => {
    const { client } = await ask(context, CHUNKS, { version: '1.0' });
    const text = await client.closed();
    assert.match(text, /\r\nConnection: close\r\n\r\nabcde\xc3\xa9f$/);
    assert.doesNotMatch(text, /chunked/);
  });

  test('with a length goes out as it is', async (context) => {
    const { kept } = await ask(context, (response) => {
      response.writeHead(200, { 'content-length': '6' });
      response.write(['abc'], 3);
      response.end(['def'], 3);
    });
    const text = await kept();
    assert.match(text, /\r\ncontent-length: 6\r\n.*\r\n\r\nabcdef$/s);
    assert.doesNotMatch(text, /chunked/);
  });

  for (const [about, status, method] of [
    ['status 204', 204, 'GET'],
    ['status 304', 304, 'GET'],
    ['the method HEAD', 200, 'HEAD'],
  ] as const) {
    test(`to ${about} has no body, also if one is given`, async (context) => {
      const { kept } = await ask(
        context,
        (response) => {
          response.writeHead(status, { 'content-type': 'text/plain' });
          response.write(['abc'], 3);
          response.end(['def'], 3);
        },
        { method },
      );
      const text = await kept();
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} .*\\r\\n\\r\\n$`, 's'));
      assert.doesNotMatch(text, /chunked|abc|def/);
    });
  }

  test('to the method HEAD may have the length of the body', async (context) => {
    const { kept } = await ask(
      context,
      (response) => {
        response.writeHead(200, { 'content-length': '500' });
        response.end();
      },
      { method: 'HEAD' },
    );
    assert.match(await kept(), /content-length: 500\r\n.*\r\n\r\n$/s);
  });

  test('has trailers where it has chunks, and nowhere else', async (context) => {
    const chunked = await ask(context, (response) => {
      response.writeHead(200, { trailer: 'x-cost' });
      response.end(['abc'], 3, { 'x-cost': '5' });
    });
    assert.match(await chunked.kept(), /trailer: x-cost\r\n.*3\r\nabc\r\n0\r\nx-cost: 5\r\n\r\n$/s);
    const counted = await ask(context, (response) => {
      response.writeHead(200, { trailer: 'x-cost', 'content-length': '3' });
      response.end(['abc'], 3, { 'x-cost': '5' });
    });
    const text = await counted.kept();
    assert.match(text, /\r\n\r\nabc$/);
    assert.doesNotMatch(text, /x-cost/);
  });

  test('that is shorter or longer than its length ends the connection', async (context) => {
    for (const body of ['ab', 'abcd']) {
      const ends: string[] = [];
      const { client } = await ask(context, (response) => {
        response.on('close', () => ends.push(`${response.writableFinished} ${response.destroyed}`));
        response.writeHead(200, { 'content-length': '3' });
        response.write([body], body.length);
        response.end();
      });
      // A longer body is not begun.
      assert.doesNotMatch(await client.closed(), /abcd/);
      assert.deepEqual(ends, ['false true']);
    }
  });

  test('has a status of which it tells the phrase', async (context) => {
    for (const [status, line] of [
      [429, 'HTTP/1.1 429 Too Many Requests\r\n'],
      [529, 'HTTP/1.1 529 '],
      [299, 'HTTP/1.1 299 '],
    ] as const) {
      const { kept } = await ask(context, (response) => {
        response.writeHead(status, {});
        response.end();
      });
      const text = await kept();
      assert.ok(text.startsWith(line), text);
    }
  });

  test('is read by the client of Node', async (context) => {
    const body = Buffer.alloc(300_000, 'some bytes of a body ');
    const server = await startServer((_request, response) => {
      response.writeHead(200, { 'x-latin': '\u00e9', trailer: 'x-sum' });
      response.write([body.subarray(0, 10), body.subarray(10, 200_000)], 200_000);
      response.write([body.subarray(200_000, 200_500)], 500);
      response.end([body.subarray(200_500)], body.length - 200_500, { 'x-sum': '1' });
    });
    context.after(() => server.close());
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      nodeGet({ port: server.port, host: '127.0.0.1', agent: false }, resolve).on('error', reject);
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    assert.ok(Buffer.concat(chunks).equals(body));
    assert.equal(response.headers['x-latin'], '\u00e9');
    assert.deepEqual({ ...response.trailers }, { 'x-sum': '1' });
  });
});

describe('a head', { timeout: 120_000 }, () => {
  for (const [about, fields] of [
    ['line end', { a: 'b\r\nc: d' }],
    ['line feed', { a: 'b\nc: d' }],
    ['carriage return', { a: 'b\r' }],
    ['NUL', { a: 'b\0' }],
    ['character beyond a byte', { a: '\u0100' }],
    ['invalid length', { 'content-length': '-1' }],
    ['name with a line end', { 'a\r\nb': 'c' }],
    ['name with a space', { 'a b': 'c' }],
    ['name in capital letters, which could be one of the connection', { 'Content-Length': '3' }],
    ['name that frames the body', { 'transfer-encoding': 'gzip' }],
  ] as const) {
    test(`with a field that has a ${about} is not sent`, async (context) => {
      const { kept } = await ask(context, (response) => {
        assert.throws(() => response.writeHead(200, fields));
        assert.equal(response.headersSent, false);
        response.writeHead(500, {});
        response.end();
      });
      assert.match(await kept(), /^HTTP\/1\.1 500 /);
    });
  }

  test('is made once', async (context) => {
    const { kept } = await ask(context, (response) => {
      response.writeHead(200, {});
      assert.throws(() => response.writeHead(500, {}));
      response.end();
    });
    assert.match(await kept(), /^HTTP\/1\.1 200 /);
  });

  test('that closes the connection does', async (context) => {
    const { client } = await ask(context, (response) => {
      response.writeHead(200, { connection: 'close', 'content-length': '0' });
      response.end();
    });
    const text = await client.closed();
    assert.equal(text.match(/connection: close/gi)?.length, 1);
  });
});

describe('a body', { timeout: 120_000 }, () => {
  for (const told of [2, 4, 40]) {
    test(`of three bytes that is told to have ${told} ends the connection`, async (context) => {
      const { client } = await ask(context, (response) => {
        response.writeHead(200, {});
        response.write(['abc'], told);
        assert.equal(response.destroyed, true);
      });
      assert.equal(await client.closed(), '');
    });
  }

  test('with trailers that cannot be sent may end without them', async (context) => {
    const { kept } = await ask(context, (response) => {
      response.writeHead(200, {});
      assert.throws(() => response.end(['abc'], 3, { a: 'b\r\n' }));
      response.end(['abc'], 3);
    });
    assert.match(await kept(), /\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/);
  });
});

describe('the end of a response', { timeout: 120_000 }, () => {
  test('is told once, with what was written before', async (context) => {
    const events: string[] = [];
    const over = Promise.withResolvers<ServerResponse>();
    const { kept } = await ask(context, (response) => {
      response.on('close', () => {
        events.push(`${response.writableFinished} ${response.destroyed}`);
        over.resolve(response);
      });
      response.writeHead(200, {});
      response.write([], 0);
      response.end();
      response.end(['more'], 4);
      response.write(['more'], 4);
    });
    assert.match(await kept(), /\r\n\r\n0\r\n\r\n$/);
    const response = await over.promise;
    response.on('close', () => events.push('late'));
    response.destroy();
    response.write(['more'], 4);
    await pause(20);
    assert.deepEqual(events, ['true false', 'late']);
  });

  test('waits for a client that does not read, and tells when it reads on', async (context) => {
    const total = 20_000_000;
    const piece = Buffer.alloc(50_000, 'x');
    let written = 0;
    let drained = 0;
    const ended: ServerResponse[] = [];
    const { client } = await ask(context, (response) => {
      response.writeHead(200, { 'content-length': String(total) });
      function fill(): void {
        while (written < total && !response.isFull) {
          response.write([piece], piece.length);
          written += piece.length;
        }
        if (written < total) return;
        response.onDrain = undefined;
        response.end();
        ended.push(response);
      }
      response.onDrain = () => {
        drained++;
        assert.ok(response.waiting <= piece.length);
        fill();
      };
      fill();
      client.socket.pause();
    });
    while (written === 0) await pause(5);
    await pause(300);
    assert.ok(written > 0 && written < total, `${written}`);
    assert.equal(ended.length, 0);
    client.socket.resume();
    while (client.received.length < total) await pause(10);
    assert.deepEqual(
      ended.map(({ writableFinished }) => writableFinished),
      [true],
    );
    assert.ok(drained > 2, `${drained}`);
  });
});
