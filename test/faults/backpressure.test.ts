/** A client that stops reading: the upstream is held back, nothing is lost, and nobody calls it idle. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { startTestGateway, startUpstream, type TestGateway, type TestUpstream } from '../gateway/harness.ts';
import { requestOf, WIRES, type WireId } from './wires.ts';

const MEBIBYTE = 1024 * 1024;
/** A translated stream of Responses ends with the whole text, so that it is shorter. */
const OFFERED = { chat: 200 * MEBIBYTE, responses: 200 * MEBIBYTE, short: 48 * MEBIBYTE };
const IDLE = 300;

/** What the kernel keeps of two connections, and a little of ours. */
const BOUND = 24 * MEBIBYTE;

/** A letter that stands nowhere else in a frame. */
const FILLER = 'Z'.repeat(64 * 1024);

type Target = 'chat' | 'responses';
const PROVIDERS: Record<Target, string> = { chat: 'a', responses: 'b' };

/** The frames are numbered. */
const frameOf = (target: Target, number: number): string => WIRES[target].text(`#${number};${FILLER}`);

let taken = 0;
/** Frames of the next stream. */
let count = 0;
let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) =>
    offer(response, call.path.endsWith('/responses') ? 'responses' : 'chat'),
  );
  gateway = await startTestGateway(`
server: { keep_alive: 700ms, deadlines: { idle: ${IDLE}ms } }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

async function offer(response: ServerResponse, target: Target): Promise<void> {
  taken = 0;
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(WIRES[target].head);
  const closed = once(response, 'close');
  for (let sent = 0; sent < count; sent++) {
    taken += FILLER.length;
    if (!response.write(frameOf(target, sent))) await Promise.race([once(response, 'drain'), closed]);
    if (response.destroyed) return;
  }
  response.end(WIRES[target].tail);
}

async function open(client: WireId, target: Target, bytes: number): Promise<IncomingMessage> {
  count = Math.ceil(bytes / FILLER.length);
  const { path, headers, body } = requestOf(client, { model: `${PROVIDERS[target]}/m`, text: 'hi', stream: true });
  const request = openRequest(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  });
  // It is larger than what is stored.
  request.end(JSON.stringify(client === 'responses' ? { ...body, store: false } : body));
  const [response] = await once(request, 'response');
  return response;
}

/** Intervals without progress that are no coincidence on a busy machine. */
const QUIET_INTERVALS = 5;

/** Waits until the upstream gets rid of nothing any more. */
async function stalled(): Promise<void> {
  for (let quiet = 0; quiet < QUIET_INTERVALS; ) {
    const before = taken;
    await wait(IDLE);
    quiet = taken === before ? quiet + 1 : 0;
  }
}

for (const target of ['chat', 'responses'] as const) {
  test(`a relayed stream of 200 MB (${target})`, async (context) => {
    const response = await open(target, target, OFFERED[target]);
    await stalled();
    const held = taken;
    context.diagnostic(`${(held / MEBIBYTE).toFixed(1)} MiB were taken before the client read anything`);
    assert.ok(held < BOUND, `${held} bytes`);
    await wait(2 * IDLE);
    assert.equal(taken, held);

    const hash = createHash('sha256');
    for await (const chunk of response) hash.update(chunk);
    const renamed = (text: string) => text.replaceAll(...NAMES[target]);
    const expected = createHash('sha256').update(renamed(WIRES[target].head));
    for (let sent = 0; sent < count; sent++) expected.update(renamed(frameOf(target, sent)));
    expected.update(renamed(WIRES[target].tail));
    assert.equal(hash.digest('hex'), expected.digest('hex'));
  });
}

/** The model in what the upstream sends and in what the client gets. */
const NAMES: Record<Target, [RegExp, string]> = {
  chat: [/"model":"m"/g, '"model":"a/m"'],
  responses: [/"max_output_tokens":null,"model":"m-2026"/g, '"max_output_tokens":null,"model":"b/m"'],
};

const PAIRS: { client: WireId; target: Target; bytes: number; end: RegExp }[] = [
  { client: 'messages', target: 'chat', bytes: OFFERED.chat, end: /message_stop"}\n\n$/ },
  { client: 'chat', target: 'responses', bytes: OFFERED.responses, end: /\[DONE\]\n\n$/ },
  { client: 'responses', target: 'chat', bytes: OFFERED.short, end: /"status":"completed".*\n\n$/ },
];

for (const { client, target, bytes, end } of PAIRS) {
  test(`a translated stream of ${bytes / MEBIBYTE} MB (${client} from ${target})`, async (context) => {
    const response = await open(client, target, bytes);
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
          if (next < count) filler += run.length;
          return '';
        });
      for (const [, number] of text.matchAll(/#(\d+);/g)) {
        // The events at the end of Responses repeat the text.
        if (next < count) assert.equal(Number(number), next++);
      }
      rest = text.replace(/#\d+;/g, '').slice(-1500);
    }
    assert.equal(next, count);
    assert.ok(filler >= (count - 1) * FILLER.length, `${filler} letters`);
    assert.match(rest, end);
  });
}

test('nothing went wrong', () => {
  assert.deepEqual(
    gateway.log.filter(({ level, status }) => level >= 40 || status !== 'complete').map(({ error }) => error),
    [],
  );
});
