/** State of reasoning in the hands of a Responses client, over two gateways: one after the other, and one behind the other. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import type { Said } from '../conformance/answers.ts';
import { speak } from '../conformance/rig.ts';
import { checkResponsesStream } from '../validators/responses.ts';
import { HEADERS, KEY, post, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';

const SIGNATURE = 'c2lnbmF0dXJl';
const SAID: Said = {
  reasoning: 'I think.',
  signature: SIGNATURE,
  calls: [{ id: 'call_1', name: 'f', args: { a: 1 } }],
};
const TOOLS = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }];
const STATE = { tools: TOOLS, include: ['reasoning.encrypted_content'], store: false };
const BEGIN = { role: 'user', content: 'Begin.' };

let upstream: TestUpstream;
let first: TestGateway;
let second: TestGateway;
/** Its upstream is the first gateway. */
let outer: TestGateway;

before(async () => {
  upstream = await startUpstream(speak(SAID));
  const providers = `
providers:
  messages: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
`;
  first = await startTestGateway(providers);
  second = await startTestGateway(providers);
  const models = '[{ id: messages/m }, { id: generate/m }]';
  outer = await startTestGateway(`
providers:
  relayed: { type: open-responses, base_url: "${first.url}/v1", api_key: ${KEY}, models: ${models} }
  as-chat: { type: openai-compatible, base_url: "${first.url}/v1", api_key: ${KEY}, models: ${models} }
  as-messages: { type: anthropic, base_url: "${first.url}/anthropic", api_key: ${KEY}, models: ${models} }
`);
});

after(async () => {
  await outer.close();
  await second.close();
  await first.close();
  await upstream.close();
});

beforeEach(() => {
  upstream.calls.length = 0;
});

function ask(gateway: TestGateway, change: Json): Promise<Response> {
  return post(`${gateway.url}/v1/responses`, { ...STATE, ...change }, HEADERS.chat);
}

/** The items of the first answer. */
async function outputOf(gateway: TestGateway, model: string, stream: boolean): Promise<Json[]> {
  const response = await ask(gateway, { model, stream, input: [BEGIN] });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const last: Json = stream ? checkResponsesStream(text).data.at(-1) : { response: JSON.parse(text) };
  const { output } = last.response;
  assert.ok(
    output.some((item: Json) => item.encrypted_content),
    text,
  );
  return output;
}

/** What the provider gets with the turn after the answer. */
async function continued(gateway: TestGateway, model: string, output: Json[]): Promise<string> {
  upstream.calls.length = 0;
  // By its id the gateway would remember the call.
  const call_id = 'call_renamed';
  const items = output.map((item) => ({ ...item, ...(item.call_id && { call_id }) }));
  const result = { type: 'function_call_output', call_id, output: 'done' };
  const response = await ask(gateway, { model, input: [BEGIN, ...items, result] });
  assert.equal(response.status, 200, await response.text());
  assert.equal(upstream.calls.length, 1);
  return upstream.calls[0]?.bytes.toString() ?? '';
}

describe('state of reasoning returns to the provider that made it (checklist 97)', () => {
  for (const model of ['messages/m', 'generate/m']) {
    for (const stream of [false, true]) {
      const form = stream ? 'streamed' : 'whole';
      test(`${model} ${form}: through another gateway, which never saw the answer`, async () => {
        const sent = await continued(second, model, await outputOf(first, model, stream));
        assert.ok(sent.includes(SIGNATURE), sent);
      });

      for (const provider of ['relayed', 'as-chat', 'as-messages']) {
        test(`${model} ${form}: through a gateway behind a gateway, ${provider}`, async () => {
          const inner = `${provider}/${model}`;
          const sent = await continued(outer, inner, await outputOf(outer, inner, stream));
          assert.ok(sent.includes(SIGNATURE), sent);
        });
      }
    }
  }

  test('and to no other provider of the gateway that never saw it', async () => {
    const output = await outputOf(first, 'messages/m', false);
    const sent = await continued(second, 'generate/m', output);
    assert.ok(!sent.includes(SIGNATURE), sent);
  });
});
