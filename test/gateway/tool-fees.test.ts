/** Fees of tools that a provider runs: searches in files and containers are charged and reserved beside the tokens. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  answerJson,
  createPermits,
  HEADERS,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { get, recordOf } from './usage-client.ts';

const KEY = 'sk-test-of-tool-fees-0123456789';

let upstream: TestUpstream;
let gateway: TestGateway;
const permits = createPermits();

const fileSearch = (id: string): Json => ({
  id,
  type: 'file_search_call',
  status: 'completed',
  queries: ['a'],
  results: null,
});
const code = (id: string, container_id: string): Json => ({
  ...{ id, type: 'code_interpreter_call', status: 'completed', code: '1', container_id, outputs: null },
});
const shell = (id: string, environment: Json): Json => ({
  ...{ id, type: 'shell_call', call_id: `call_${id}`, status: 'completed', environment },
  action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
});
const text = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text: 'Found it.', annotations: [] }],
};

const OUTPUTS: Record<string, Json[]> = {
  files: [fileSearch('fs_1'), fileSearch('fs_2'), text],
  containers: [code('ci_1', 'cntr_1'), shell('sh_1', { type: 'container_reference', container_id: 'cntr_2' }), text],
  code: [code('ci_1', 'cntr_1'), code('ci_2', 'cntr_1'), text],
  local: [shell('sh_1', { type: 'local' }), shell('sh_2', null), text],
};

function responseWith(output: Json[]): Json {
  return {
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed', output },
    usage: { input_tokens: 40, output_tokens: 10, total_tokens: 50 },
  };
}

function framesOf(list: Json[]): string {
  return list.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join('');
}

function responseFrames(output: Json[]): Json[] {
  const response = { ...responseWith([]), status: 'in_progress', usage: null };
  const items = output.flatMap((item, output_index): Json[] => [
    { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress' } },
    { type: 'response.output_item.done', output_index, item },
  ]);
  return [{ type: 'response.created', response }, ...items];
}

const RUN = [
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'bash_code_execution', input: { command: 'ls' } },
  {
    ...{ type: 'bash_code_execution_tool_result', tool_use_id: 'srvtoolu_1' },
    content: { type: 'bash_code_execution_result', stdout: '', stderr: '', return_code: 0, content: [] },
  },
  { type: 'text', text: 'Done.' },
];
const CONTAINER = { id: 'container_1', expires_at: '2026-11-30T00:00:00Z' };
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
const COUNTS = { input_tokens: 40, output_tokens: 10, server_tool_use: { web_search_requests: 0 } };

function messageFrames(): Json[] {
  const blocks = RUN.flatMap((block, index): Json[] => [
    { type: 'content_block_start', index, content_block: block.type === 'text' ? { type: 'text', text: '' } : block },
    ...(block.type === 'text'
      ? [{ type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text } }]
      : []),
    { type: 'content_block_stop', index },
  ]);
  const message = {
    ...MESSAGE,
    content: [],
    stop_reason: null,
    container: null,
    usage: { input_tokens: 40, output_tokens: 1 },
  };
  return [
    { type: 'message_start', message },
    ...blocks,
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, container: CONTAINER },
      usage: COUNTS,
    },
    { type: 'message_stop' },
  ];
}

before(async () => {
  upstream = await startUpstream(async ({ path, bytes, body }, answer) => {
    const asks = (word: string) => bytes.includes(word);
    if (asks('waits')) await permits.take();
    if (body.stream !== true) {
      if (path.endsWith('/messages'))
        return answerJson(answer, {
          ...MESSAGE,
          content: RUN,
          stop_reason: 'end_turn',
          container: CONTAINER,
          usage: COUNTS,
        });
      return answerJson(answer, responseWith(OUTPUTS[Object.keys(OUTPUTS).find(asks) ?? ''] ?? [text]));
    }
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    const output = OUTPUTS[Object.keys(OUTPUTS).find(asks) ?? ''] ?? [text];
    const frames = path.endsWith('/messages') ? messageFrames() : responseFrames(output);
    if (!asks('breaks')) {
      const end = path.endsWith('/messages') ? [] : [{ type: 'response.completed', response: responseWith(output) }];
      return void answer.end(framesOf([...frames, ...end]));
    }
    answer.write(framesOf(path.endsWith('/messages') ? frames.slice(0, -2) : frames));
    setTimeout(() => answer.destroy(), 50);
  });
  gateway = await startTestGateway(
    `
providers:
  openai: { base_url: "${upstream.url}/v1", api_key: k }
  anthropic: { base_url: "${upstream.url}", api_key: k }
  r: { type: open-responses, base_url: "${upstream.url}/v1", api_key: k, models: [{ id: m, pricing: { prompt: "0", completion: "0", container: "0.03" } }] }
`,
    { keys: [`{ name: capped, key: ${KEY}, budgets: { total: "1000" } }`] },
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const CODE = { type: 'code_interpreter', container: { type: 'auto' } };
const LARGE_CODE = { type: 'code_interpreter', container: { type: 'auto', memory_limit: '4g' } };
const FILES = { type: 'file_search', vector_store_ids: ['vs_1'] };
const SHELL = { type: 'shell', environment: { type: 'container_auto', memory_limit: '16g' } };
const RUNS_CODE = { type: 'code_execution_20250825', name: 'code_execution' };
const FETCH = { type: 'web_fetch_20260309', name: 'web_fetch' };

/** Of 40 tokens of input and 10 of output. */
const OPENAI_TOKENS = 40 * 0.0000025 + 10 * 0.000015;
const CLAUDE_TOKENS = 40 * 0.000003 + 10 * 0.000015;

function respond(input: string, tools: Json[], more: Json = {}): Promise<Response> {
  return post(`${gateway.url}/v1/responses`, { model: 'openai/gpt-5.4', input, tools, ...more }, HEADERS.chat);
}

function run(content: string, tools: Json[], more: Json = {}): Promise<Response> {
  const body = {
    model: 'anthropic/claude-sonnet-4-6',
    max_tokens: 100,
    messages: [{ role: 'user', content }],
    tools,
    ...more,
  };
  return post(`${gateway.url}/anthropic/v1/messages`, body, HEADERS.messages);
}

/** Messages of which the last one defines a tool, if there is one. */
function conversation(content: string, defined?: Json): Json {
  const tool = { type: 'tool_definition', definition: defined };
  const addition = { role: 'system', content: [{ type: 'tool_addition', tool }] };
  return { messages: [{ role: 'user', content }, ...(defined ? [addition] : [])] };
}

async function recordFor(answer: Response): Promise<Json> {
  const id = String(answer.headers.get('x-polygate-generation-id'));
  await answer.text().catch(() => '');
  return recordOf(gateway.url, id);
}

/** The cost beside the tokens. */
function assertFee({ total_cost: cost }: Json, tokens: number, fee: number): void {
  assert.ok(Math.abs(cost - tokens - fee) < 1e-9, `${cost} instead of ${tokens + fee}`);
}

const CHARGED: [what: string, input: string, tools: Json[], fee: number][] = [
  ['two searches in files', 'files', [FILES], 0.005],
  ['a container of two calls', 'code', [CODE], 0.03],
  ['a container of four gigabytes', 'code', [LARGE_CODE], 0.12],
  ['two containers', 'containers', [CODE, { type: 'shell', environment: { type: 'container_auto' } }], 0.06],
  ['a shell of the client', 'local', [{ type: 'shell', environment: { type: 'local' } }], 0],
];

for (const stream of [false, true])
  for (const [what, input, tools, fee] of CHARGED)
    test(`${what} ${stream ? 'in a stream ' : ''}cost ${fee} USD`, async () => {
      const record = await recordFor(await respond(input, tools, { stream }));
      assert.equal(record.status, 'completed');
      assertFee(record, OPENAI_TOKENS, fee);
    });

for (const [what, input, tools, fee] of CHARGED)
  test(`${what} in a stream that breaks off cost ${fee} USD`, async () => {
    const record = await recordFor(await respond(`${input} breaks`, tools, { stream: true }));
    assert.equal(record.status, 'partial');
    assert.ok(record.total_cost >= fee && record.total_cost < fee + 0.001, `${record.total_cost}`);
  });

test('tools of a translated answer are charged, of its stream and of one that breaks off', async () => {
  for (const [content, stream, status] of [
    ['code', false, 'completed'],
    ['code', true, 'completed'],
    ['code breaks', true, 'partial'],
  ] as const) {
    const asked = { model: 'r/m', messages: [{ role: 'user', content }], stream };
    const provider = { options: { r: { tools: [LARGE_CODE] } } };
    const body = { ...asked, max_tokens: 100, provider };
    const answer = await post(`${gateway.url}/anthropic/v1/messages`, body, HEADERS.messages);
    const path = answer.headers.get('x-polygate-path');
    const record = await recordFor(answer);
    assert.deepEqual([path, record.status], ['translated', status], JSON.stringify(record));
    assert.ok(record.total_cost >= 0.12 && record.total_cost < 0.121, `${record.total_cost}`);
  }
});

for (const stream of [false, true])
  for (const [what, tools, fee, defined] of [
    ['is charged for five minutes', [RUNS_CODE], 0.004166666667],
    [
      'is charged beside an older search',
      [RUNS_CODE, { type: 'web_search_20250305', name: 'web_search' }],
      0.004166666667,
    ],
    ['is free beside a search that filters', [RUNS_CODE, { type: 'web_search_20260209', name: 'web_search' }], 0],
    ['is free beside a fetch that filters', [RUNS_CODE, FETCH], 0],
    ['is free beside a fetch that the conversation defines', [RUNS_CODE], 0, FETCH],
  ] as const)
    test(`code of Claude ${what}${stream ? ' in a stream' : ''}`, async () => {
      const record = await recordFor(await run('code', [...tools], { stream, ...conversation('code', defined) }));
      assert.equal(record.status, 'completed');
      assertFee(record, CLAUDE_TOKENS, fee);
      if (!stream) return;
      const cut = await recordFor(
        await run('code breaks', [...tools], { stream, ...conversation('code breaks', defined) }),
      );
      assert.equal(cut.status, 'partial');
      assert.ok(cut.total_cost >= fee && cut.total_cost < fee + 0.001, `${cut.total_cost}`);
    });

test('the fees are lines of the charge', async () => {
  const answer = await respond('files', [FILES]);
  const id = String(answer.headers.get('x-polygate-generation-id'));
  await answer.text();
  const { charge } = (await get(gateway.url, `/v1/self/requests/${id}`)).body.data;
  const line = charge.lines.find(({ kind }: Json) => kind === 'file_searches');
  assert.deepEqual([line?.count, line?.price, line?.cost], [2, '0.0025', '0.005']);
});

/** What a request holds of its budget, beside the same one without its tools. */
async function held(tools: Json[], more: Json = {}): Promise<number> {
  const before = upstream.calls.length;
  const headers = { ...HEADERS.chat, authorization: `Bearer ${KEY}` };
  const body = { model: 'openai/gpt-5.4', input: 'waits', max_output_tokens: 16, tools, ...more };
  const answer = post(`${gateway.url}/v1/responses`, body, headers);
  while (upstream.calls.length === before) await new Promise(setImmediate);
  const { data } = (await get(gateway.url, '/v1/key', KEY)).body;
  permits.give();
  assert.equal((await answer).status, 200);
  return Number(data.held.total);
}

test('budgets hold the fees of tools', async () => {
  const searches = await held([{ type: 'web_search_preview' }]);
  // Tools that only the provider knows hold five searches of the web, too.
  const container = await held([CODE]);
  assert.ok(Math.abs((await held([LARGE_CODE])) - container - 0.09) < 0.001);
  assert.ok(Math.abs((await held([CODE, SHELL])) - container - 0.48) < 0.001);
  const files = await held([FILES]);
  assert.ok(files > 5 * 0.0025 + 5 * 16_000 * 0.0000025, `${files}, ${searches}`);
  assert.ok((await held([FILES], { max_tool_calls: 50 })) > files + 45 * 0.0025);
});
