/** Silence in a stream: signs of life at the configured interval, in each protocol's own form, that no parser minds. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { hear, WIRES } from '../faults/wires.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import {
  createPermits,
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
const SIGNS_IN_SILENCE = 4;
/** Events this far apart keep a stream busy for much longer than the interval. */
const GAP = 200;
const BUSY = 20;

const SIGNS: Record<ProtocolId, RegExp> = {
  chat: /^: .*\n\n/gm,
  messages: /^event: ping\ndata: \{"type":"ping"\}\n\n/gm,
  generate:
    /^data: \{"candidates":\[\{"content":\{"role":"model","parts":\[\{"text":""\}\]\},"index":0\}\]\}\r\n\r\n/gm,
};

let upstream: TestUpstream;
let gateway: TestGateway;
const clock = createManualClock(Date.now());
/** The upstream takes one for each piece after the beginning. */
const permits = createPermits();

before(async () => {
  upstream = await startUpstream(async (call, response) => {
    const wire = WIRES[IDS.find((name) => call.path.toLowerCase().includes(name)) ?? 'chat'];
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head);
    if (call.bytes.includes('busy')) {
      for (let count = 0; count < BUSY; count++) {
        await permits.take();
        response.write(wire.text('.'));
      }
    }
    await permits.take();
    response.end(wire.text('lo') + wire.tail);
  });
  gateway = await startTestGateway(
    `
server: { keep_alive: ${INTERVAL}ms }
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
`,
    { clock },
  );
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Asked {
  protocol: ProtocolId;
  array: boolean;
  model: string;
  /** What the upstream does after the beginning. */
  text: 'silence' | 'busy';
}

/** The pieces of a stream, as they come. */
async function* stream({ protocol, array, model, text }: Asked): AsyncGenerator<string> {
  const path = PATHS[protocol](model, true).replace(array ? '?alt=sse' : '', '');
  const response = await post(gateway.url + path, question(protocol, model, text, true), HEADERS[protocol]);
  assert.equal(response.status, 200);
  if (array) assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) yield decoder.decode(chunk, { stream: true });
}

/** After its beginning the upstream is silent for the time of some signs of life. */
async function inSilence(asked: Omit<Asked, 'text'>): Promise<string[]> {
  const pieces: string[] = [];
  let intervals = 0;
  for await (const piece of stream({ ...asked, text: 'silence' })) {
    pieces.push(piece);
    if (!pieces.join('').includes('Hel') || signsIn(pieces, asked) < intervals) continue;
    intervals += 1;
    if (intervals <= SIGNS_IN_SILENCE) clock.advance(INTERVAL);
    else permits.give();
  }
  return pieces;
}

function signsIn(pieces: string[], { protocol, array }: Pick<Asked, 'protocol' | 'array'>): number {
  if (array) return pieces.filter((piece) => piece.trim() === '').length;
  return pieces.join('').match(SIGNS[protocol])?.length ?? 0;
}

/** After its beginning the upstream sends one event after the other, with gaps that are shorter than the interval. */
async function whileBusy(asked: Omit<Asked, 'text'>): Promise<string> {
  let text = '';
  let events = 0;
  for await (const piece of stream({ ...asked, text: 'busy' })) {
    text += piece;
    const received = text.match(/"(Hel|\.)"/g)?.length ?? 0;
    if (received === events) continue;
    events = received;
    clock.advance(GAP);
    permits.give();
  }
  return text;
}

describe('30, 45: signs of life', () => {
  for (const { protocol, array } of CLIENTS) {
    for (const target of IDS) {
      const model = `${PROVIDERS[target]}/m`;
      const pair = `${array ? 'generate as an array' : protocol} from ${target}`;

      test(`${pair}: in silence`, async () => {
        const pieces = await inSilence({ protocol, array, model });
        const text = pieces.join('');
        assert.deepEqual(hear(protocol, text, array), { text: 'Hello', success: true });
        assert.equal(signsIn(pieces, { protocol, array }), SIGNS_IN_SILENCE);
      });

      test(`${pair}: not while events come`, async () => {
        const text = await whileBusy({ protocol, array, model });
        assert.deepEqual(hear(protocol, text, array), { text: `Hel${'.'.repeat(BUSY)}lo`, success: true });
        assert.equal(array ? null : text.match(SIGNS[protocol]), null);
      });
    }
  }
});

test('49: an array comes element by element, and silence adds nothing but white space', async () => {
  const pieces = await inSilence({ protocol: 'generate', array: true, model: 'a/m' });
  assert.match(pieces[0] ?? '', /^\[\{.*"Hel".*\}$/s);
  assert.ok(pieces.filter((piece) => piece.trim() === '').length >= 2);
  assert.equal(JSON.parse(pieces.join('')).at(-1).candidates[0].finishReason, 'STOP');
});
