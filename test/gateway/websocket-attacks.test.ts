/** WebSockets of hostile clients, each within its bound, and what is left of connections that ended. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as openRequest } from 'node:http';
import { connect as openSocket, type Socket } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import type { Clock } from '../../src/core/clock.ts';
import type { Json } from '../../src/core/json/json.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { deltaOf, eventsOf, frame, streamOf } from '../protocols/responses-wire.ts';
import {
  type Answerer,
  answerEvents,
  HEADERS,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { connect } from './websocket-client.ts';

const MODEL = 'one/m-2026';
const MIB = 1024 * 1024;

const manual = createManualClock(Date.now());
/** Timers that are neither due nor cancelled. */
let timers = 0;
const clock: Clock & Pick<typeof manual, 'advance'> = {
  ...manual,
  after(milliseconds, callback) {
    let isOpen = true;
    const end = (): void => {
      if (isOpen) timers -= 1;
      isOpen = false;
    };
    timers += 1;
    const cancel = manual.after(milliseconds, () => {
      end();
      callback();
    });
    return () => {
      end();
      cancel();
    };
  },
};

let upstream: TestUpstream;
let answer: Answerer;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) => answer(call, response));
  gateway = await startTestGateway(
    `
server: { body_limit: 1MiB, body_memory: 4MiB }
providers:
  one: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m-2026 }] }
`,
    { clock },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

beforeEach(() => {
  answer = (_call, response) => answerEvents(response, streamOf('Hello'));
});

const UPGRADE_HEADERS = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
};

/** A connection whose frames a test writes itself. */
async function openRaw(): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const headers = { ...HEADERS.chat, ...UPGRADE_HEADERS };
  const asked = openRequest({ hostname, port, path: '/v1/responses', headers }).end();
  const [, socket] = await once(asked, 'upgrade');
  return socket.on('error', () => undefined);
}

/** A frame of a client, with a mask of zeros; `announced` is its length, of which less may follow. */
function frameOf(payload: Buffer, { opcode = 1, fin = true, announced = payload.length } = {}): Buffer {
  const head = Buffer.alloc(14);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(announced), 2);
  return Buffer.concat([head, payload]);
}

/** Without a payload. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

/** The code of the closing frame. */
async function closing(socket: Socket): Promise<number> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  while (!socket.destroyed) {
    const bytes = Buffer.concat(chunks);
    const at = bytes.indexOf(0x88);
    if (at >= 0 && bytes.length >= at + 4) {
      socket.destroy();
      return bytes.readUInt16BE(at + 2);
    }
    await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  }
  return 1006;
}

async function reaction(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
}

/** Waits until an answered ping shows that the gateway has read everything before. */
async function settled(): Promise<void> {
  const socket = await connect(gateway.url);
  socket.ws.ping();
  await once(socket.ws, 'pong');
  await socket.close();
  await reaction();
}

test('an upgrade behind another request on one connection is accepted after its response', async () => {
  const { hostname, port } = new URL(gateway.url);
  const lines = Object.entries({ ...HEADERS.chat, ...UPGRADE_HEADERS }).map(([name, value]) => `${name}: ${value}`);
  const upgrade = ['GET /v1/responses HTTP/1.1', 'host: x', ...lines, '', ''].join('\r\n');
  const socket = openSocket({ host: hostname, port: Number(port) }).setEncoding('latin1');
  socket.write(`GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: ${HEADERS.chat.authorization}\r\n\r\n${upgrade}`);
  let received = '';
  for await (const part of socket) {
    received += part;
    if (received.includes(' 101 ')) break;
  }
  assert.match(received, /^HTTP\/1\.1 200 .*HTTP\/1\.1 101 /s);
});

describe('bounds', () => {
  test('a message that comes too slowly', async () => {
    const socket = await openRaw();
    socket.write(frameOf(Buffer.alloc(10), { announced: MIB / 2 }));
    await settled();
    const closed = closing(socket);
    clock.advance(10_000);
    assert.equal(await closed, 1008);
  });

  test('messages that never end share the memory for bodies', async () => {
    const sockets = await Promise.all(Array.from({ length: 8 }, openRaw));
    const codes = sockets.map(closing);
    for (const socket of sockets) socket.write(frameOf(Buffer.alloc(MIB - 20), { announced: MIB - 10 }));
    const first = await Promise.race(codes);
    assert.equal(first, 1013);
    for (const socket of sockets) socket.destroy();
    await settled();
    const socket = await connect(gateway.url);
    const { type } = await socket.ask({ model: MODEL, input: 'x'.repeat(MIB / 2), store: false });
    assert.equal(type, 'response.completed');
    await socket.close();
  });

  test('a frame that announces more than there may be, before any of it comes', async () => {
    const socket = await openRaw();
    socket.write(frameOf(Buffer.alloc(0), { announced: 2 ** 40 }));
    assert.equal(await closing(socket), 1009);
  });

  test('fragments without end, with content and without', async () => {
    for (const content of ['', 'x']) {
      const socket = await openRaw();
      const closed = closing(socket);
      socket.write(frameOf(Buffer.from('{'), { fin: false }));
      const fragments = Array.from({ length: 9000 }, () => frameOf(Buffer.from(content), { opcode: 0, fin: false }));
      socket.write(Buffer.concat(fragments));
      assert.equal(await closed, 1008);
    }
  });

  test('frames that break the protocol: compressed, unmasked, of no kind, and text that is not UTF-8', async () => {
    const compressed = frameOf(Buffer.alloc(2000));
    compressed[0] = (compressed[0] ?? 0) | 0x40;
    const broken: [bytes: Buffer, code: number][] = [
      [compressed, 1002],
      [Buffer.from([0x81, 0x01, 0x41]), 1002],
      [frameOf(Buffer.from('x'), { opcode: 3 }), 1002],
      [frameOf(Buffer.from([0xff, 0xfe])), 1007],
    ];
    for (const [bytes, code] of broken) {
      const socket = await openRaw();
      const closed = closing(socket);
      socket.write(bytes);
      assert.equal(await closed, code);
    }
  });

  test('a client that asks and does not read stops being answered', async () => {
    const socket = await openRaw();
    // The gateway may end the connection.
    socket.on('error', () => undefined);
    socket.pause();
    const wrong = frameOf(Buffer.from(JSON.stringify({ type: 'x'.repeat(100_000) })));
    const before = process.memoryUsage.rss();
    for (let count = 0; count < 400 && !socket.destroyed; count++) {
      if (!socket.write(wrong)) await Promise.race([once(socket, 'drain').catch(() => undefined), reaction()]);
    }
    await settled();
    assert.ok(process.memoryUsage.rss() - before < 200 * MIB);
    socket.destroy();
  });
});

test('a client that reads slowly slows the upstream down, and gets everything in the end', async () => {
  const events = eventsOf('Hello', { store: false }).map(frame);
  const delta = frame(deltaOf('x'.repeat(64 * 1024), 6));
  const count = 1000;
  let sent = 0;
  answer = async (_call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events.slice(0, 6).join(''));
    for (; sent < count; sent++) if (!response.write(delta)) await once(response, 'drain');
    response.end(events.slice(-1).join(''));
  };
  const socket = await connect(gateway.url);
  socket.send({ type: 'response.create', model: MODEL, input: 'Hi', store: false });
  await socket.next();
  socket.ws.pause();
  let before = -1;
  while (sent !== before) {
    before = sent;
    await settled();
  }
  assert.ok(sent < count / 2, `${sent} of ${count}`);
  socket.ws.resume();
  const messages = await socket.response();
  assert.equal(messages.filter(({ type }) => type === 'response.output_text.delta').length, count);
  assert.equal(messages.at(-1)?.type, 'response.completed');
  await socket.close();
});

test('a client that answers pings and does not read what it asked for is ended after five minutes', async () => {
  const delta = frame(deltaOf('x'.repeat(64 * 1024), 6));
  let isEnded = false;
  answer = (_call, response) => {
    response.on('close', () => {
      isEnded = true;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(eventsOf('Hello', { store: false }).map(frame).slice(0, 6).join(''));
    const fill = (): void => {
      while (!isEnded && response.write(delta));
    };
    response.on('drain', fill);
    fill();
  };
  const socket = await openRaw();
  socket.write(
    frameOf(Buffer.from(JSON.stringify({ type: 'response.create', model: MODEL, input: 'Hi', store: false }))),
  );
  await once(socket, 'data');
  socket.pause();
  let elapsed = 0;
  while (!isEnded && elapsed < 600_000) {
    socket.write(PONG);
    await settled();
    clock.advance(30_000);
    elapsed += 30_000;
    await settled();
  }
  assert.ok(elapsed >= 300_000 && elapsed <= 390_000, `${elapsed}`);
  socket.destroy();
});

test('nothing is left of connections that ended: no timer, and no place of the key', async () => {
  let open = 0;
  for (let round = 0; round < 4; round++) {
    const sockets = await Promise.all(Array.from({ length: 50 }, () => connect(gateway.url)));
    for (const socket of sockets.slice(0, 10)) await socket.ask({ model: MODEL, input: 'Hi', store: false });
    const [cut, ended] = [sockets.slice(0, 25), sockets.slice(25)];
    for (const { ws } of cut) ws.terminate();
    await Promise.all(ended.map((socket) => socket.close()));
    await settled();
    // The first round leaves timers of the gateway itself, such as that of records to be written: this clock stands still.
    if (round === 0) open = timers;
  }
  // On a busy machine the last ones end later.
  for (let tries = 0; timers > open && tries < 100; tries++) await settled();
  assert.ok(timers <= open, `${timers} of ${open}`);
});

test('any message gets an error in words or a response, and the connection stays', async () => {
  const socket = await connect(gateway.url);
  const members = fc.record(
    {
      type: fc.oneof(fc.constant('response.create'), fc.jsonValue()),
      model: fc.oneof(fc.constant(MODEL), fc.jsonValue()),
      input: fc.oneof(fc.string(), fc.array(fc.jsonValue()), fc.jsonValue()),
      previous_response_id: fc.oneof(fc.constant('resp_1'), fc.jsonValue()),
      stream_id: fc.oneof(fc.string(), fc.jsonValue()),
      generate: fc.oneof(fc.boolean(), fc.jsonValue()),
      store: fc.oneof(fc.constant(false), fc.jsonValue()),
      tools: fc.jsonValue(),
      text: fc.jsonValue(),
      reasoning: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const texts = fc.oneof(
    members.map((message) => JSON.stringify(message)),
    fc.string(),
    fc.json(),
  );
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      socket.ws.send(text);
      const last: Json = (await socket.response()).at(-1);
      assert.ok(last, text);
      assert.notEqual(last.error?.code, 'internal_error', text);
    }),
    { numRuns: 300, examples: [['{"type":[{"toString":0}]}']] },
  );
  await socket.close();
  assert.ok(!gateway.log.some(({ msg }) => msg === 'internal error'));
});
