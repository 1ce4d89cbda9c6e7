/** Reads of accepted sockets into one buffer, and as events for who takes a socket over. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { readAsEvents, readShared } from '../../src/http1/shared-reads.ts';

/** A client and the socket that a server accepted. */
async function connected(context: TestContext): Promise<{ client: Socket; accepted: Socket }> {
  const server = createServer({ allowHalfOpen: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  const client = connect({ port: address.port, host: '127.0.0.1', noDelay: true });
  const [accepted] = (await once(server, 'connection')) as [Socket];
  context.after(() => {
    client.destroy();
    accepted.destroy();
    server.close();
  });
  return { client, accepted };
}

function collectedFrom(socket: Socket): {
  texts: string[];
  memories: Set<ArrayBufferLike>;
  read: (bytes: Buffer) => void;
} {
  const texts: string[] = [];
  const memories = new Set<ArrayBufferLike>();
  const read = (bytes: Buffer) => {
    texts.push(bytes.toString());
    memories.add(bytes.buffer);
    socket.emit('was read');
  };
  return { texts, memories, read };
}

test('all sockets read into one buffer', { timeout: 60_000 }, async (context) => {
  const pairs = [await connected(context), await connected(context)];
  const memories = new Set<ArrayBufferLike>();
  for (const { client, accepted } of pairs) {
    const { texts, read, memories: own } = collectedFrom(accepted);
    readShared(accepted, read);
    for (const text of ['one', 'two']) {
      const wasRead = once(accepted, 'was read');
      client.write(text);
      await wasRead;
    }
    assert.deepEqual(texts, ['one', 'two']);
    for (const memory of own) memories.add(memory);
  }
  assert.equal(memories.size, 1);
});

test('a paused socket reads nothing, and its end is told', { timeout: 60_000 }, async (context) => {
  const { client, accepted } = await connected(context);
  const { texts, read } = collectedFrom(accepted);
  readShared(accepted, read);
  const paused = once(accepted, 'was read');
  accepted.once('was read', () => accepted.pause());
  client.write('a');
  await paused;
  client.end('b');
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(texts, ['a']);
  const ended = once(accepted, 'end');
  accepted.resume();
  await ended;
  assert.deepEqual(texts, ['a', 'b']);
});

test('another reader gets events with memory of their own, and may be slow', { timeout: 60_000 }, async (context) => {
  const { client, accepted } = await connected(context);
  const { texts, read } = collectedFrom(accepted);
  readShared(accepted, read);
  const first = once(accepted, 'was read');
  client.write('first');
  await first;
  readAsEvents(accepted, read);
  const sent = Buffer.alloc(8_000_000, 'some text ');
  client.end(sent);
  accepted.pause();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(accepted.readableLength <= accepted.readableHighWaterMark + 64 * 1024, 'it reads no more than it may');
  const chunks: Buffer[] = [];
  for await (const chunk of accepted) {
    chunks.push(chunk);
    if (chunks.length % 10 === 0) await new Promise(setImmediate);
  }
  assert.deepEqual(texts, ['first']);
  assert.ok(Buffer.concat(chunks).equals(sent));
  assert.ok(chunks.every(({ buffer, length }) => buffer.byteLength === length));
});

test('a socket for which Node has no such way is read by events', async () => {
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }) as Socket;
  const { texts, read } = collectedFrom(socket);
  readShared(socket, read);
  socket.push('a');
  await once(socket, 'was read');
  assert.deepEqual(texts, ['a']);
  readAsEvents(socket, read);
  socket.push('b');
  const [chunk] = await once(socket, 'data');
  assert.equal(chunk.toString(), 'b');
  assert.deepEqual(texts, ['a']);
});
