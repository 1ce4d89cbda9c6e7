/** Compaction of conversations: relayed where the provider has it, else made of a summary by the model. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { startProvider } from '../clients/upstreams.ts';
import {
  answerJson,
  HEADERS,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { messageOf } from './responses-upstream.ts';

const OTHERS = ['chat', 'messages', 'generate'] as const;
const SUMMARY = 'They built a bridge of 12 m; the paint is open. 🌉';
const user = (text: string): Json => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const COMPACTED = {
  id: 'resp_c1',
  object: 'response.compaction',
  created_at: 1_793_491_200,
  output: [user('Build a bridge.'), { type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }],
  usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
};

let compacting: TestUpstream;
let without: TestUpstream;
let providers: TestUpstream[];
let gateway: TestGateway;
/** Text of the model's next answers. */
let answer: string;
/** Their id; by the length of their input if undefined. */
let answerId: Json;

function responseOf(body: Json, text: string): Json {
  return {
    ...{
      id: answerId ?? `resp_${body.input.length}`,
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: body.model,
    },
    ...{ output: text === '' ? [] : [messageOf('msg_1', text)], store: false },
    usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
  };
}

before(async () => {
  compacting = await startUpstream(({ path, body }, response) =>
    answerJson(response, path === '/v1/responses/compact' ? COMPACTED : responseOf(body, answer)),
  );
  without = await startUpstream(({ path, body }, response) => {
    if (path === '/v1/responses/compact') answerJson(response, { detail: 'Not Found' }, 404);
    else answerJson(response, responseOf(body, answer));
  });
  providers = await Promise.all(
    OTHERS.map((protocol) => startProvider(protocol, [{ text: SUMMARY }, { text: SUMMARY }])),
  );
  const [chat, messages, generate] = providers;
  gateway = await startTestGateway(`
providers:
  compacting: { type: openai, base_url: "${compacting.url}/v1", api_key: k, models: [{ id: m }] }
  without: { type: vllm, base_url: "${without.url}/v1", models: [{ id: m }] }
  chat: { type: openai-compatible, base_url: "${chat?.url}/v1", api_key: k, models: [{ id: m }] }
  messages: { type: anthropic, base_url: "${messages?.url}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${generate?.url}", api_key: k, models: [{ id: m }] }
`);
});
after(async () => {
  await gateway.close();
  for (const upstream of [compacting, without, ...providers]) await upstream.close();
});
beforeEach(() => {
  answer = SUMMARY;
  answerId = undefined;
  for (const upstream of [compacting, without, ...providers]) upstream.calls.length = 0;
});

async function send(path: string, body: Json): Promise<{ status: number; headers: Headers; body: Json }> {
  const response = await post(`${gateway.url}/v1/responses${path}`, body, HEADERS.chat);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const HISTORY = [
  user('Build a bridge.'),
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is 12 m long.' }] },
  user('Paint it.'),
];

/** Messages as items of an output, with ids of their own. */
function assertKept(output: Json[], messages: Json[]): void {
  assert.deepEqual(
    output.map(({ id: _id, status: _status, ...message }) => message),
    messages,
  );
  for (const { id, status } of output)
    assert.ok(/^msg_\w{20,59}$/.test(id) && status === 'completed', `${id} ${status}`);
  assert.equal(new Set(output.map(({ id }) => id)).size, output.length);
}

test('a provider that has it compacts: its result is relayed, and charged', async () => {
  const { status, headers, body } = await send('/compact', { model: 'compacting/m', input: HISTORY });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body, COMPACTED);
  assert.deepEqual(
    compacting.calls.map(({ path }) => path),
    ['/v1/responses/compact'],
  );
  assert.deepEqual(compacting.calls[0]?.body, { model: 'm', input: HISTORY });
  const id = headers.get('x-polygate-generation-id');
  const found = await fetch(`${gateway.url}/v1/generation?id=${id}`, { headers: HEADERS.chat });
  const { data }: Json = await found.json();
  assert.deepEqual([data.tokens_prompt, data.tokens_completion], [100, 10]);
});

for (const [index, protocol] of OTHERS.entries()) {
  test(`the model summarizes, and reads its summary again (${protocol})`, async () => {
    const { status, headers, body } = await send('/compact', { model: `${protocol}/m`, input: HISTORY });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.object, 'response.compaction');
    assertKept(body.output.slice(0, -1), [HISTORY[0], HISTORY[2]]);
    const item = body.output.at(-1);
    assert.deepEqual([item.type, item.id.slice(0, 4), typeof item.encrypted_content], ['compaction', 'cmp_', 'string']);
    assert.equal(body.usage.total_tokens, 15);
    const id = headers.get('x-polygate-generation-id');
    assert.equal((await fetch(`${gateway.url}/v1/generation?id=${id}`, { headers: HEADERS.chat })).status, 200);
    const asked = JSON.stringify(providers[index]?.calls[0]?.body);
    assert.ok(asked.includes('It is 12 m long.') && asked.includes('Summarize the conversation'));
    const next = await send('', { model: `${protocol}/m`, input: [...body.output, user('Go on.')] });
    assert.equal(next.status, 200, JSON.stringify(next.body));
    const sent = JSON.stringify(providers[index]?.calls.at(-1)?.body);
    assert.ok(sent.includes(SUMMARY) && sent.includes('Paint it.') && sent.includes('Go on.'), sent);
    assert.ok(!sent.includes('It is 12 m long.'));
  });
}

describe('a server without the path', () => {
  test('summarizes, is not asked for the path again, and keeps its protocol', async () => {
    const one = await send('/compact', { model: 'without/m', input: HISTORY });
    assert.equal(one.status, 200, JSON.stringify(one.body));
    const two = await send('/compact', { model: 'without/m', input: HISTORY });
    assert.equal(two.status, 200, JSON.stringify(two.body));
    const next = await send('', { model: 'without/m', input: [...two.body.output, user('Go on.')] });
    assert.equal(next.status, 200, JSON.stringify(next.body));
    assert.deepEqual(
      without.calls.map(({ path }) => path),
      ['/v1/responses/compact', '/v1/responses', '/v1/responses', '/v1/responses'],
    );
    const { input } = without.calls.at(-1)?.body ?? {};
    assert.deepEqual([input.length, input[3]], [4, user('Go on.')]);
    assertKept(input.slice(0, 2), [HISTORY[0], HISTORY[2]]);
    assert.ok(input[2].role === 'user' && input[2].content[0].text.endsWith(SUMMARY));
  });

  test('compacts a stored conversation, and the result can be stored and continued', async () => {
    const first = await send('', { model: 'without/m', input: 'Build a bridge.' });
    const { status, body } = await send('/compact', { model: 'without/m', previous_response_id: first.body.id });
    assert.equal(status, 200, JSON.stringify(body));
    assertKept(body.output.slice(0, 1), [user('Build a bridge.')]);
    const second = await send('', { model: 'without/m', input: [...body.output, user('On.')] });
    const third = await send('', { model: 'without/m', input: 'Further.', previous_response_id: second.body.id });
    assert.equal(third.status, 200, JSON.stringify(third.body));
    const sent = without.calls.at(-1)?.body.input;
    assert.ok(sent[1].content[0].text.endsWith(SUMMARY), JSON.stringify(sent));
    assert.ok(!JSON.stringify(sent).includes('"compaction"'));
  });

  test('an id of the summary that is no text is replaced', async () => {
    for (const id of ['resp_', 7, { toString: 1 }, [{ toString: 1 }]]) {
      answerId = id;
      const { status, body } = await send('/compact', { model: 'without/m', input: HISTORY });
      assert.equal(status, 200, JSON.stringify(body));
      assert.match(body.output.at(-1).id, /^cmp_[0-9a-f]{48}$/, JSON.stringify(id));
    }
  });

  test('a model that says nothing is an error', async () => {
    answer = '';
    const { status, body } = await send('/compact', { model: 'without/m', input: HISTORY });
    assert.deepEqual([status, body.error.message], [502, 'The model gave no summary of the conversation.']);
  });
});

test('only the last messages of the user are kept, as many as fit', async () => {
  const input = Array.from({ length: 12 }, (_, index) => user(`${index} ${'x'.repeat(10_000)}`));
  const { body } = await send('/compact', { model: 'without/m', input });
  assertKept(body.output.slice(0, -1), input.slice(-7));
});

test('messages without a type and with a plain text are kept as whole items', async () => {
  const input = [
    { role: 'user', content: 'Build a bridge.' },
    { role: 'assistant', content: 'Done.' },
    { role: 'user', id: 'msg_of_the_client_0123456789', content: 'Paint it.' },
  ];
  const { body } = await send('/compact', { model: 'without/m', input });
  assertKept(body.output.slice(0, -1), [user('Build a bridge.'), user('Paint it.')]);
  assert.equal(body.output[1].id, 'msg_of_the_client_0123456789');
});

test('what is refused', async () => {
  const cases: [Json, number, string][] = [
    [{ input: HISTORY }, 400, 'model'],
    [{ model: 'without/m', input: 7 }, 400, 'input'],
    [{ model: 'chat/m' }, 400, 'input'],
    [{ model: 'chat/m', input: [] }, 400, 'input'],
    [{ model: 'without/m', input: 'x', previous_response_id: 'resp_none' }, 400, 'previous_response_id'],
    [{ model: 'without/none-such', input: 'x' }, 404, 'model'],
  ];
  for (const [given, expected, param] of cases) {
    const { status, body } = await send('/compact', given);
    assert.deepEqual([status, body.error.param], [expected, param], JSON.stringify(body));
  }
  const foreign = Buffer.from(JSON.stringify({ polygate: 1, kind: 'encrypted', origin: 'p', value: 'x' }));
  const item = { type: 'compaction', id: 'cmp_1', encrypted_content: foreign.toString('base64') };
  assert.equal((await send('', { model: 'chat/m', input: [item, user('x')] })).status, 400);
});

test('responses.compaction: upstream leaves compaction to providers that have it', async () => {
  const strict = await startTestGateway(`
responses: { compaction: upstream }
providers:
  compacting: { type: openai, base_url: "${compacting.url}/v1", api_key: k, models: [{ id: m }] }
  without: { type: vllm, base_url: "${without.url}/v1", models: [{ id: m }] }
  chat: { type: openai-compatible, base_url: "${providers[0]?.url}/v1", api_key: k, models: [{ id: m }] }
`);
  const compact = async (model: string): Promise<{ status: number; body: Json }> => {
    const response = await post(`${strict.url}/v1/responses/compact`, { model, input: HISTORY }, HEADERS.chat);
    return { status: response.status, body: await response.json() };
  };
  assert.deepEqual((await compact('compacting/m')).body.output, COMPACTED.output);
  // The second time, it is known that the server has no such path.
  for (const model of ['chat/m', 'without/m', 'without/m']) {
    const { status, body } = await compact(model);
    assert.deepEqual([status, body.error.code, body.error.param], [400, 'unsupported_parameter', 'model']);
  }
  assert.deepEqual(
    without.calls.map(({ path }) => path),
    ['/v1/responses/compact'],
  );
  assert.equal(providers[0]?.calls.length, 0);
  await strict.close();
});
