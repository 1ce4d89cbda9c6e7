/** An answer that is cut was paid for as far as it came: its usage so far is recorded, and marked as partial. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { post, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from '../gateway/harness.ts';
import { requestOf, WIRES, type WireId } from './wires.ts';

const PROVIDERS: Record<WireId, string> = { chat: 'a', messages: 'b', generate: 'c', responses: 'd' };
const IDS = Object.keys(PROVIDERS) as WireId[];
const WORDS = 20;

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream(async (call, response) => {
    const wire = WIRES[IDS.find((name) => call.path.toLowerCase().includes(name)) ?? 'chat'];
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(wire.head);
    for (let count = 0; count < WORDS; count++) response.write(wire.text(' words'));
    if (call.bytes.includes('leave')) return;
    await new Promise((resolve) => response.write(wire.text('.'), resolve));
    response.destroy();
  });
  gateway = await startTestGateway(`
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  c: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  d: { type: open-responses, base_url: "${upstream.url}/v1", models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

function ask(protocol: WireId, model: string, text: string, signal?: AbortSignal): Promise<Response> {
  const { path, headers, body } = requestOf(protocol, { model, text, stream: true });
  return post(gateway.url + path, body, headers, signal);
}

/** The log's last word on the call. */
async function recorded(requestId: string | null): Promise<Json> {
  for (;;) {
    const line = gateway.log.find((entry) => entry.requestId === requestId && entry.msg === 'answered');
    if (line) return line;
    await new Promise(setImmediate);
  }
}

for (const protocol of IDS) {
  for (const target of IDS) {
    describe(`${protocol} from ${target}`, () => {
      const model = `${PROVIDERS[target]}/m`;

      test('cut by the upstream', async () => {
        const response = await ask(protocol, model, 'go');
        await response.text();
        const line = await recorded(response.headers.get('x-polygate-request-id'));
        assert.equal(line.status, 'failed');
        assertPartial(line);
      });

      test('left by the client', async () => {
        const leaving = new AbortController();
        const response = await ask(protocol, model, 'leave', leaving.signal);
        let heard = '';
        for await (const chunk of response.body ?? []) {
          heard += Buffer.from(chunk).toString();
          if (heard.split(' words').length > WORDS) break;
        }
        leaving.abort();
        const line = await recorded(response.headers.get('x-polygate-request-id'));
        assert.equal(line.status, 'client-closed');
        assertPartial(line);
      });
    });
  }
}

function assertPartial({ partial, usage }: Json): void {
  assert.equal(partial, true);
  assert.equal(usage.estimated, true);
  assert.ok(usage.output >= WORDS && usage.output <= 2 * WORDS, `${usage.output} tokens`);
}
