/** A client that stops reading: the upstream is held back, nothing is lost, and nobody calls it idle. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  HEADERS,
  PATHS,
  type ProtocolId,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { WIRES } from './wires.ts';

const MEBIBYTE = 1024 * 1024;
const OFFERED = 200 * MEBIBYTE;
const IDLE = 300;

/** What the kernel keeps of two connections, and a little of ours. */
const BOUND = 24 * MEBIBYTE;

/** A letter that stands nowhere else in a frame. */
const FILLER = 'Z'.repeat(64 * 1024);
const COUNT = Math.ceil(OFFERED / FILLER.length);

/** The frames are numbered. */
const frameOf = (number: number): string => WIRES.chat.text(`#${number};${FILLER}`);

let taken = 0;
let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((_call, response) => offer(response));
  gateway = await startTestGateway(`
server: { keep_alive: 700ms, deadlines: { idle: ${IDLE}ms } }
providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] } }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

async function offer(response: ServerResponse): Promise<void> {
  taken = 0;
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(WIRES.chat.head);
  const closed = once(response, 'close');
  for (let sent = 0; sent < COUNT; sent++) {
    taken += FILLER.length;
    if (!response.write(frameOf(sent))) await Promise.race([once(response, 'drain'), closed]);
    if (response.destroyed) return;
  }
  response.end(WIRES.chat.tail);
}

async function open(protocol: ProtocolId): Promise<IncomingMessage> {
  const headers = { 'content-type': 'application/json', ...HEADERS[protocol] };
  const request = openRequest(gateway.url + PATHS[protocol]('a/m', true), { method: 'POST', headers });
  request.end(JSON.stringify(question(protocol, 'a/m', 'hi', true)));
  const [response] = await once(request, 'response');
  return response;
}

/** Waits until the upstream gets rid of nothing any more. */
async function stalled(): Promise<void> {
  for (let before = -1; before !== taken; ) {
    before = taken;
    await wait(IDLE);
  }
}

test('a relayed stream of 200 MB', async (context) => {
  const response = await open('chat');
  await stalled();
  const held = taken;
  context.diagnostic(`${(held / MEBIBYTE).toFixed(1)} MiB were taken before the client read anything`);
  assert.ok(held < BOUND, `${held} bytes`);
  await wait(2 * IDLE);
  assert.equal(taken, held);

  const hash = createHash('sha256');
  for await (const chunk of response) hash.update(chunk);
  const expected = createHash('sha256').update(renamed(WIRES.chat.head));
  for (let sent = 0; sent < COUNT; sent++) expected.update(renamed(frameOf(sent)));
  expected.update(renamed(WIRES.chat.tail));
  assert.equal(hash.digest('hex'), expected.digest('hex'));
});

function renamed(text: string): string {
  return text.replaceAll('"model":"m"', '"model":"a/m"');
}

test('a translated stream of 200 MB', async (context) => {
  const response = await open('messages');
  await stalled();
  context.diagnostic(`${(taken / MEBIBYTE).toFixed(1)} MiB were taken before the client read anything`);
  assert.ok(taken < BOUND, `${taken} bytes`);

  let rest = '';
  let next = 0;
  let filler = 0;
  for await (const chunk of response) {
    const text =
      rest +
      chunk.toString('latin1').replace(/Z+/g, (run: string) => {
        filler += run.length;
        return '';
      });
    for (const [, number] of text.matchAll(/#(\d+);/g)) assert.equal(Number(number), next++);
    rest = text.replace(/#\d+;/g, '').slice(-300);
  }
  assert.equal(next, COUNT);
  assert.equal(filler, COUNT * FILLER.length);
  assert.match(rest, /message_stop"}\n\n$/);
});

test('nothing went wrong', () => {
  assert.deepEqual(
    gateway.log.filter(({ level, status }) => level >= 40 || status !== 'complete').map(({ error }) => error),
    [],
  );
});
