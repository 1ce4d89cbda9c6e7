/** Silence in a stream: signs of life at the configured interval, in each protocol's own form, that no parser minds. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { hear, WIRES } from '../faults/wires.ts';
import {
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const PROVIDERS: Record<ProtocolId, string> = { chat: 'a', messages: 'b', generate: 'c' };
const IDS = Object.keys(PROVIDERS) as ProtocolId[];
const CLIENTS = [
  ...IDS.map((protocol) => ({ protocol, array: false })),
  { protocol: 'generate' as const, array: true },
];

const INTERVAL = 250;
const SILENCE = 1100;
/** Twenty events this far apart keep a stream busy for longer than the interval, with room for a slow machine. */
const GAP = 20;
const BUSY = 20;

const SIGNS: Record<ProtocolId, RegExp> = {
  chat: /^: .*\n\n/gm,
  messages: /^event: ping\ndata: \{"type":"ping"\}\n\n/gm,
  generate:
    /^data: \{"candidates":\[\{"content":\{"role":"model","parts":\[\{"text":""\}\]\},"index":0\}\]\}\r\n\r\n/gm,
};

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(async (call, response) => {
    const wire = WIRES[IDS.find((name) => call.path.toLowerCase().includes(name)) ?? 'chat'];
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head);
    if (call.bytes.includes('busy')) {
      for (let count = 0; count < BUSY; count++) {
        await wait(GAP);
        response.write(wire.text('.'));
      }
    } else await wait(SILENCE);
    response.end(wire.text('lo') + wire.tail);
  });
  gateway = await startTestGateway(`
server: { keep_alive: ${INTERVAL}ms }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

async function stream(protocol: ProtocolId, array: boolean, model: string, text: string): Promise<string> {
  const path = PATHS[protocol](model, true).replace(array ? '?alt=sse' : '', '');
  const response = await post(gateway.url + path, question(protocol, model, text, true), HEADERS[protocol]);
  assert.equal(response.status, 200);
  return response.text();
}

describe('30, 45: signs of life', { concurrency: true }, () => {
  for (const { protocol, array } of CLIENTS) {
    for (const target of IDS) {
      const model = `${PROVIDERS[target]}/m`;
      const pair = `${array ? 'generate as an array' : protocol} from ${target}`;

      test(`${pair}: in silence`, async () => {
        const text = await stream(protocol, array, model, 'silence');
        assert.deepEqual(hear(protocol, text, array), { text: 'Hello', success: true });
        if (array) return;
        const signs = text.match(SIGNS[protocol])?.length ?? 0;
        assert.ok(signs >= 2 && signs <= SILENCE / INTERVAL, `${signs} in ${SILENCE} ms`);
      });

      test(`${pair}: not while events come`, async () => {
        const text = await stream(protocol, array, model, 'busy');
        assert.deepEqual(hear(protocol, text, array), { text: `Hel${'.'.repeat(BUSY)}lo`, success: true });
        assert.equal(array ? null : text.match(SIGNS[protocol]), null);
      });
    }
  }
});

test('49: an array comes element by element, and silence adds nothing but white space', async () => {
  const path = PATHS.generate('a/m', true).replace('?alt=sse', '');
  const body = question('generate', 'a/m', 'silence', true);
  const response = await post(gateway.url + path, body, HEADERS.generate);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  const pieces: string[] = [];
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) pieces.push(decoder.decode(chunk));
  assert.match(pieces[0] ?? '', /^\[\{.*"Hel".*\}$/s);
  assert.ok(pieces.filter((piece) => piece.trim() === '').length >= 2);
  assert.equal(JSON.parse(pieces.join('')).at(-1).candidates[0].finishReason, 'STOP');
});
