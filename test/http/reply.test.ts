/** Reply: writes a response to a socket. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { createReply } from '../../src/http/reply.ts';
import { ResponseHeaders } from '../../src/http/response-headers.ts';
import type { Reply } from '../../src/inference/response/reply.ts';
import { startServer } from '../http1/start-server.ts';

test('a response has one listener for its drain, however many attempts it takes, and the last one hears it', async () => {
  const heard: number[] = [];
  const drained = Promise.withResolvers<void>();
  const counts: number[] = [];
  const server = await startServer(async ({ socket }, response) => {
    const before = socket.listenerCount('drain');
    const reply = createReply(response, new ResponseHeaders('req_1', 'x-request-id'));
    for (let attempt = 0; attempt < 20; attempt++) {
      reply.onDrain(() => {
        heard.push(attempt);
        drained.resolve();
      });
    }
    counts.push(before, socket.listenerCount('drain'));
    reply.head(200, {});
    while (!reply.full) reply.write(Buffer.alloc(1 << 20));
    await drained.promise;
    reply.end();
  });
  const client = get({ port: server.port, host: '127.0.0.1' });
  const [incoming] = await once(client, 'response');
  incoming.resume();
  await drained.promise;
  assert.deepEqual(heard, [19]);
  assert.deepEqual(counts, [1, 1]);
  await once(incoming, 'end');
  await server.close();
});

/** Serves each request by `answer`; returns the bytes that a client on a raw socket gets until the connection ends. */
async function bytesOf(
  answer: (reply: Reply, socket: Socket) => Promise<void> | void,
  { version = '1.1' } = {},
): Promise<string> {
  const server = await startServer(({ socket }, response) => {
    void answer(createReply(response, new ResponseHeaders('req_1', 'x-request-id')), socket);
  });
  const client = connect(server.port, '127.0.0.1');
  client.write(`GET / HTTP/${version}\r\nhost: a\r\nconnection: close\r\n\r\n`);
  let bytes = '';
  client.setEncoding('utf8').on('data', (data: string) => {
    bytes += data;
  });
  await once(client, 'close');
  await server.close();
  return bytes;
}

/** Data of the chunks in a response. */
function chunksOf(bytes: string): string[] {
  const chunks: string[] = [];
  let rest = Buffer.from(bytes).subarray(Buffer.from(bytes).indexOf('\r\n\r\n') + 4);
  for (;;) {
    const lineEnd = rest.indexOf('\r\n');
    const length = Number.parseInt(rest.toString('latin1', 0, lineEnd), 16);
    if (length === 0) return chunks;
    chunks.push(rest.toString('utf8', lineEnd + 2, lineEnd + 2 + length));
    assert.equal(rest.toString('latin1', lineEnd + 2 + length, lineEnd + 4 + length), '\r\n');
    rest = rest.subarray(lineEnd + 4 + length);
  }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Counts the writes that leave the process, each a system call. */
function countWrites(socket: Socket): { count: number } {
  const writes = { count: 0 };
  assert.ok(socket._writev);
  const [one, several] = [socket._write, socket._writev];
  socket._write = (...given) => {
    writes.count++;
    return one.apply(socket, given);
  };
  socket._writev = (...given) => {
    writes.count++;
    return several.apply(socket, given);
  };
  return writes;
}

test('what a turn of the event loop produces is one write and one chunk; the first is not delayed', async () => {
  let atFirst = -1;
  const counts: number[] = [];
  const bytes = await bytesOf(async (reply, socket) => {
    const writes = countWrites(socket);
    reply.head(200, { 'content-type': 'text/plain' });
    reply.write('a');
    reply.write(Buffer.from('b'));
    await Promise.resolve();
    atFirst = writes.count;
    for (let turn = 0; turn < 3; turn++) {
      for (let part = 0; part < 50; part++) {
        // As from several chunks of an upstream, each in a task of its own.
        await Promise.resolve();
        reply.write(part % 2 === 0 ? `${turn}é;` : Buffer.from(`${turn};`));
      }
      await nextTurn();
      counts.push(writes.count);
    }
    reply.end('z');
  });
  assert.equal(atFirst, 1);
  assert.deepEqual(counts, [2, 3, 4]);
  const turns = [0, 1, 2].map((turn) => `${turn}é;${turn};`.repeat(25));
  assert.deepEqual(chunksOf(bytes), ['ab', ...turns, 'z']);
});

test('what is left of the last turn comes before the end, with trailers', async () => {
  const bytes = await bytesOf(async (reply) => {
    reply.head(200, { trailer: 'x-cost' });
    reply.write('first');
    await nextTurn();
    reply.write('second');
    reply.end('third', { 'x-cost': '1' });
  });
  assert.equal(chunksOf(bytes).join(''), 'firstsecondthird');
  assert.match(bytes, /\r\n0\r\nx-cost: 1\r\n\r\n$/);
});

test('an end at once, without an own last part, and for HTTP/1.0 sends everything', async () => {
  const atOnce = await bytesOf((reply) => {
    reply.head(200, {});
    reply.write('a');
    reply.end();
  });
  assert.deepEqual(chunksOf(atOnce), ['a']);
  const old = await bytesOf(
    async (reply) => {
      reply.head(200, { trailer: 'x-cost' });
      reply.write('a');
      await nextTurn();
      reply.write('é');
      await nextTurn();
      reply.end('b', { 'x-cost': '1' });
    },
    { version: '1.0' },
  );
  assert.match(old, /\r\n\r\naéb$/);
});

test('outputs of any size keep their order, and those that wait are counted', async () => {
  const sizes = [1, 70_000, 3, 40_000, 20_000, 65_536, 16_380, 0, 33_000];
  const parts = sizes.map((size, index) => String(index).repeat(size));
  const bytes = await bytesOf(async (reply) => {
    reply.head(200, {});
    for (const part of parts) {
      reply.write(Buffer.from(part));
      if (part.length > 66_000) assert.equal(reply.full, true);
    }
    await nextTurn();
    reply.write('1234');
    assert.ok(reply.waiting >= 4);
    reply.end();
  });
  assert.equal(chunksOf(bytes).join(''), `${parts.join('')}1234`);
});
