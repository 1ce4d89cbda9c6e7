/** State of models in stored responses: it returns to its provider though no client asked for it, on any gateway of the database. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { SIGNATURE, startProvider, THOUGHT } from '../clients/upstreams.ts';
import { providePostgres, type TestDatabase } from '../store/postgres-server.ts';
import { createBackgroundClient } from './background-client.ts';
import { HEADERS, post, startTestGateway, type TestGateway, type TestUpstream } from './harness.ts';

const PROVIDERS = ['messages', 'generate'] as const;
const STEPS = [
  { thought: THOUGHT, signature: SIGNATURE, calls: [{ id: 'call_1', name: 'weather', args: { city: 'Zürich' } }] },
  { text: 'Sunny' },
];
const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } }];

let upstreams: Record<(typeof PROVIDERS)[number], TestUpstream>;
let database: TestDatabase;
let first: TestGateway;
/** Another gateway of the database, which has seen no answer. */
let second: TestGateway;

before(async () => {
  const [messages, generate] = await Promise.all(PROVIDERS.map((protocol) => startProvider(protocol, STEPS)));
  assert.ok(messages && generate);
  upstreams = { messages, generate };
  database = await providePostgres();
  const yaml = `
encryption: { key: "${Buffer.alloc(32, 7).toString('base64')}" }
providers:
  messages: { type: anthropic, base_url: "${messages.url}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${generate.url}", api_key: k, models: [{ id: m }] }
`;
  first = await startTestGateway(yaml, { postgres: database.url });
  second = await startTestGateway(yaml, { postgres: database.url });
});
after(async () => {
  await second.close();
  await first.close();
  for (const upstream of Object.values(upstreams)) await upstream.close();
  await database.close();
});
beforeEach(() => {
  for (const upstream of Object.values(upstreams)) upstream.calls.length = 0;
});

async function create({ url }: TestGateway, body: Json): Promise<Json> {
  const response = await post(`${url}/v1/responses`, { tools, ...body }, HEADERS.chat);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return body.stream ? JSON.parse(parseEvents(Buffer.from(text)).at(-1)?.data ?? '').response : JSON.parse(text);
}

async function get(path: string): Promise<Json> {
  return (await fetch(`${second.url}/v1/${path}`, { headers: HEADERS.chat })).json();
}

const result = { type: 'function_call_output', call_id: 'call_1', output: 'sunny' };

for (const provider of PROVIDERS) {
  const model = `${provider}/m`;
  const effort = { reasoning: { effort: 'high' } };

  function assertReturned({ output }: Json): void {
    assert.equal(output[0]?.content?.[0]?.text, 'Sunny');
    const { bytes } = upstreams[provider].calls.at(-1) ?? {};
    assert.ok(bytes?.includes(`"${SIGNATURE}"`), String(bytes));
  }

  const outputOf = ({ output }: Json) => ({ ...result, call_id: output.at(-1).call_id });

  for (const stream of [false, true]) {
    describe(`${provider}, ${stream ? 'streamed' : 'whole'}`, () => {
      test('in a chain, and it is shown to nobody', async () => {
        const one = await create(first, { model, input: 'Weather?', ...effort, stream });
        assert.doesNotMatch(JSON.stringify(one), /encrypted_content/);
        assertReturned(
          await create(second, { model, input: [outputOf(one)], previous_response_id: one.id, ...effort, stream }),
        );
        const include = '?include[]=reasoning.encrypted_content';
        assert.deepEqual((await get(`responses/${one.id}`)).output, one.output);
        assert.deepEqual((await get(`responses/${one.id}${include}`)).output, one.output);
      });

      test('that a request includes is among the input items where they include it', async () => {
        const include = ['reasoning.encrypted_content'];
        const one = await create(first, { model, input: 'Weather?', ...effort, include, stream });
        assert.match(JSON.stringify(one), /encrypted_content/);
        const two = await create(second, { model, input: [outputOf(one)], previous_response_id: one.id, ...effort });
        const path = `responses/${two.id}/input_items?order=asc`;
        const { data } = await get(`${path}&include[]=${include}`);
        assert.deepEqual(data.slice(1, 1 + one.output.length), one.output);
        assert.doesNotMatch(JSON.stringify(await get(path)), /encrypted_content/);
      });

      test('in references to items', async () => {
        const one = await create(first, { model, input: 'Weather?', ...effort, stream });
        const references = one.output.map(({ id }: Json) => ({ type: 'item_reference', id }));
        const input = [{ role: 'user', content: 'Weather?' }, ...references, outputOf(one)];
        const two = await create(second, { model, input, ...effort, stream });
        assertReturned(two);
        const { data } = await get(`responses/${two.id}/input_items?order=asc`);
        assert.deepEqual(data.slice(1, -1), one.output);
      });

      test('in a conversation', async () => {
        const { id: conversation } = (await (
          await post(`${first.url}/v1/conversations`, {}, HEADERS.chat)
        ).json()) as Json;
        const one = await create(first, { model, input: 'Weather?', conversation, ...effort, stream });
        assertReturned(await create(second, { model, input: [outputOf(one)], conversation, ...effort, stream }));
        const { data } = await get(`conversations/${conversation}/items?order=asc`);
        assert.deepEqual(data.slice(1, 1 + one.output.length), one.output);
      });
    });
  }

  test(`${provider}, in the background`, async () => {
    const client = createBackgroundClient(() => first.url);
    const { body } = await client.create({ model, input: 'Weather?', tools, ...effort, store: true });
    const one = await client.ended(body.id);
    assertReturned(await create(second, { model, input: [outputOf(one)], previous_response_id: one.id, ...effort }));
  });
}
