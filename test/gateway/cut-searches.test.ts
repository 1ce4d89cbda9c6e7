/** Searches of the web, and images of a tool, in a stream that its client leaves or that breaks off before they are counted: those that are done are charged. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, post, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { recordOf } from './usage-client.ts';

const CAPPED = 'sk-test-of-images-capped-0123456789';

let upstream: TestUpstream;
let gateway: TestGateway;
/** Answers of the upstream that are held open. */
const waiting: ServerResponse[] = [];

const framesOf = (list: Json[]): string =>
  list.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join('');

const PAGE = { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'x' };
const FAILURE = { type: 'web_search_tool_result_error', error_code: 'unavailable' };

function messagesSearch(index: number, content: Json): Json[] {
  const id = `srvtoolu_${index}`;
  return [
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'server_tool_use', id, name: 'web_search', input: {} },
    },
    { type: 'content_block_stop', index },
    {
      ...{ type: 'content_block_start', index: index + 1 },
      content_block: { type: 'web_search_tool_result', tool_use_id: id, content },
    },
    { type: 'content_block_stop', index: index + 1 },
  ];
}

const message = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] },
  ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 40, output_tokens: 1 } },
};
const MESSAGES = [
  { type: 'message_start', message },
  ...messagesSearch(0, [PAGE]),
  ...messagesSearch(2, FAILURE),
  ...messagesSearch(4, [PAGE, PAGE]),
  { type: 'content_block_start', index: 6, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 6, delta: { type: 'text_delta', text: '{"type":"web_search_tool_result"}' } },
];

function responsesSearch(index: number, status: string, action: Json): Json[] {
  const item = { id: `ws_${index}`, type: 'web_search_call', status: 'in_progress' };
  return [
    { type: 'response.output_item.added', output_index: index, item },
    { type: 'response.web_search_call.searching', output_index: index, item_id: item.id },
    { type: 'response.output_item.done', output_index: index, item: { ...item, status, action } },
  ];
}

const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [], status: 'in_progress' };
const text = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
const RESPONSES = [
  { type: 'response.created', response },
  ...responsesSearch(0, 'completed', { type: 'search', query: 'a' }),
  ...responsesSearch(1, 'failed', { type: 'search', query: 'b' }),
  ...responsesSearch(2, 'completed', { type: 'open_page', url: 'https://a.example' }),
  ...responsesSearch(3, 'completed', { type: 'search', query: 'c' }),
  { type: 'response.output_item.added', output_index: 4, item: text },
  {
    ...{ type: 'response.content_part.added', item_id: 'msg_1', output_index: 4, content_index: 0 },
    part: { type: 'output_text', text: '', annotations: [] },
  },
  { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 4, content_index: 0, delta: 'Found it.' },
];

const image = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'iVBORw0KGgo=' };
const IMAGES = [
  { type: 'response.created', response },
  { type: 'response.output_item.added', output_index: 0, item: { ...image, status: 'in_progress', result: null } },
  { type: 'response.output_item.done', output_index: 0, item: image },
  { type: 'response.output_item.done', output_index: 1, item: { ...image, id: 'ig_2', quality: 'low' } },
  ...RESPONSES.slice(-3),
];
const IMAGE_USE = { image_gen: { input_tokens: 100, output_tokens: 272 }, web_search: { num_requests: 0 } };
const DRAWN = [
  ...IMAGES,
  {
    type: 'response.completed',
    response: {
      ...{ ...response, status: 'completed', output: [image], tool_usage: IMAGE_USE },
      usage: { input_tokens: 40, output_tokens: 10, total_tokens: 50 },
    },
  },
];

before(async () => {
  upstream = await startUpstream(({ path, bytes, body }, answer) => {
    if (body.tools?.[0]?.type === 'image_generation' && bytes.includes('whole'))
      return void answer.writeHead(200, { 'content-type': 'text/event-stream' }).end(framesOf(DRAWN));
    const responses = body.tools?.[0]?.type === 'image_generation' ? IMAGES : RESPONSES;
    const [all, ofText] = path.endsWith('/messages') ? [MESSAGES, 2] : [responses, 3];
    const frames = framesOf(bytes.includes('breaks early') ? all.slice(0, -ofText) : all);
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).write(frames);
    if (bytes.includes('waits')) waiting.push(answer);
    if (bytes.includes('breaks')) setTimeout(() => answer.destroy(), 50);
  });
  const models = 'models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.00001", web_search: "0.01" } }]';
  const drawing =
    'models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.00001", image_tool_output: "0.00003" } }]';
  gateway = await startTestGateway(
    `
providers:
  openai: { base_url: "${upstream.url}/v1", api_key: k }
  a: { type: anthropic, base_url: "${upstream.url}", api_key: k, ${models} }
  r: { type: open-responses, base_url: "${upstream.url}/v1", api_key: k, ${models} }
  i: { type: open-responses, base_url: "${upstream.url}/v1", api_key: k, ${drawing} }
`,
    { keys: [`{ name: capped, key: ${CAPPED}, budgets: { total: "1.70" } }`] },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const MESSAGES_SEARCH = { type: 'web_search_20250305', name: 'web_search' };

/** A request that searches, by a client of a protocol; it leaves as soon as it has the text, or reads until the end. */
async function search(protocol: 'messages' | 'responses', model: string, content: string): Promise<string> {
  const [path, asked] =
    protocol === 'messages'
      ? ['/anthropic/v1/messages', { max_tokens: 100, messages: [{ role: 'user', content }], tools: [MESSAGES_SEARCH] }]
      : ['/v1/responses', { input: content, tools: [{ type: 'web_search' }] }];
  const headers = protocol === 'messages' ? HEADERS.messages : HEADERS.chat;
  const answer = await post(gateway.url + path, { model, stream: true, ...asked }, headers);
  assert.equal(answer.status, 200);
  const id = String(answer.headers.get('x-polygate-generation-id'));
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  for (let seen = ''; content !== 'leaves' || !/Found it|\\"type/.test(seen); ) {
    const part = await reader?.read().catch(() => undefined);
    if (!part || part.done) break;
    seen += decoder.decode(part.value, { stream: true });
  }
  await reader?.cancel().catch(() => undefined);
  return id;
}

for (const model of ['a/m', 'r/m'])
  for (const protocol of ['messages', 'responses'] as const)
    for (const [end, status] of [
      ['leaves', 'cancelled'],
      ['breaks', 'partial'],
    ] as const)
      test(`two searches of ${model}, for a client of ${protocol} that ${end === 'leaves' ? end : 'is left'}`, async () => {
        const record = await recordOf(gateway.url, await search(protocol, model, end));
        assert.deepEqual([record.status, record.num_search_results], [status, 2]);
        assert.ok(record.total_cost >= 0.02 && record.total_cost < 0.021, `${record.total_cost}`);
      });

for (const model of ['a/m', 'r/m'])
  for (const protocol of ['messages', 'responses'] as const)
    test(`two searches of ${model}, for a client of ${protocol} that is left before the text`, async () => {
      const record = await recordOf(gateway.url, await search(protocol, model, 'breaks early'));
      assert.deepEqual([record.status, record.num_search_results], ['partial', 2]);
      assert.ok(record.total_cost >= 0.02 && record.total_cost < 0.021, `${record.total_cost}`);
    });

function askForImage(input: string, key?: string): Promise<Response> {
  const asked = {
    model: 'openai/gpt-5.4',
    input,
    stream: true,
    max_output_tokens: 16,
    tools: [{ type: 'image_generation' }],
  };
  const headers = { ...HEADERS.chat, ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  return post(`${gateway.url}/v1/responses`, asked, headers);
}

/** Generation id of an answer that was read until its end. */
async function draw(input: string): Promise<string> {
  const answer = await askForImage(input);
  await answer.text().catch(() => '');
  return String(answer.headers.get('x-polygate-generation-id'));
}

test('images of a tool are charged by the tokens of its model', async () => {
  const record = await recordOf(gateway.url, await draw('whole'));
  // 40 of 0.0000025, 10 of 0.000015, and 100 of 0.000008 and 272 of 0.00003 by the tool.
  assert.deepEqual([record.status, record.total_cost], ['completed', 0.00921]);
});

for (const input of ['breaks', 'breaks early'])
  test(`images of a stream that ${input} are charged by their quality`, async () => {
    const record = await recordOf(gateway.url, await draw(input));
    assert.equal(record.status, 'partial');
    const images = (6240 + 408) * 0.00003;
    assert.ok(record.total_cost > images && record.total_cost < images + 0.001, `${record.total_cost}`);
  });

for (const input of ['breaks', 'breaks early'])
  test(`images and searches of a gathered answer that ${input} are charged`, async () => {
    for (const [model, type, least] of [
      ['i/m', 'image_generation', (6240 + 408) * 0.00003],
      ['r/m', 'web_search', 0.02],
    ] as const) {
      const asked = { model, messages: [{ role: 'user', content: input }] };
      const provider = { options: { [model.slice(0, 1)]: { tools: [{ type }] } } };
      const answer = await post(`${gateway.url}/v1/chat/completions`, { ...asked, provider }, HEADERS.chat);
      assert.equal(answer.status, 502);
      const record = await recordOf(gateway.url, String(answer.headers.get('x-polygate-generation-id')));
      assert.ok(record.total_cost >= least && record.total_cost < least + 0.001, `${record.total_cost}`);
    }
  });

test('images of a translated stream that breaks off are charged by their quality', async () => {
  const asked = { model: 'i/m', messages: [{ role: 'user', content: 'breaks' }], stream: true };
  const provider = { options: { i: { tools: [{ type: 'image_generation' }] } } };
  const answer = await post(`${gateway.url}/v1/chat/completions`, { ...asked, provider }, HEADERS.chat);
  const id = String(answer.headers.get('x-polygate-generation-id'));
  await answer.text().catch(() => '');
  const record = await recordOf(gateway.url, id);
  assert.equal(record.status, 'partial');
  const images = (6240 + 408) * 0.00003;
  assert.ok(record.total_cost > images && record.total_cost < images + 0.001, `${record.total_cost}`);
});

test('a budget holds three large images of each request', async () => {
  const answers = await Promise.all(Array.from({ length: 6 }, () => askForImage('waits', CAPPED)));
  for (const answer of waiting) answer.destroy();
  await Promise.all(answers.map((answer) => answer.text().catch(() => '')));
  const admitted = answers.filter(({ status }) => status === 200);
  // Each holds 0.60, or half of the rest.
  assert.ok(admitted.length > 0 && admitted.length < 6, `${admitted.length}`);
});
