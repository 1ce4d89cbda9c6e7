/** Containers of OpenAI: calls whose container has a broken id or none, several sizes in one request, and searches in files that failed. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, post, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';
import { recordOf } from './usage-client.ts';

let upstream: TestUpstream;
let gateway: TestGateway;

const TEXT =
  '{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Found it.","annotations":[]}]}';
const code = (rest: string): string =>
  `{"id":"ci_1","type":"code_interpreter_call","status":"completed","code":"1","outputs":null${rest}}`;
const shell = (id: string): string =>
  `{"id":"sh_1","type":"shell_call","call_id":"c","status":"completed","environment":{"type":"container_reference","container_id":${id}},"action":{"commands":["ls"]}}`;
const files = (status: string): string =>
  `{"id":"fs_1","type":"file_search_call","status":"${status}","queries":["a"],"results":null}`;

const BROKEN: Record<string, string> = {
  'an object': '{"toString":1,"valueOf":1}',
  'an array': '[{"toString":1}]',
  'a large number': '12345678901234567890',
  'a long text': `"${'c'.repeat(1000)}"`,
};

/** Items of the output by the input of the request. */
const OUTPUTS: Record<string, string[]> = {
  ...Object.fromEntries(Object.entries(BROKEN).map(([what, id]) => [what, [code(`,"container_id":${id}`), TEXT]])),
  'no id': [code(''), code(''), shell('{"toString":1}'), TEXT],
  'one with an id': [code(''), code(',"container_id":"cntr_1"'), TEXT],
  two: [code(',"container_id":"cntr_1"'), shell('"cntr_2"'), TEXT],
  'failed searches': [files('completed'), files('failed'), files('incomplete'), TEXT],
};

function responseWith(output: string[], usage = '{"input_tokens":40,"output_tokens":10,"total_tokens":50}'): string {
  return `{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"completed","output":[${output.join()}],"usage":${usage}}`;
}

function framesOf(output: string[]): string[] {
  const items = output.flatMap((item, index) =>
    ['added', 'done'].map((what) => `{"type":"response.output_item.${what}","output_index":${index},"item":${item}}`),
  );
  const created = `{"type":"response.created","response":${responseWith([], 'null')}}`;
  return [created, ...items].map((data) => `data: ${data}\n\n`);
}

before(async () => {
  upstream = await startUpstream(({ bytes, body }, answer) => {
    const output = OUTPUTS[Object.keys(OUTPUTS).find((word) => bytes.includes(`"${word}`)) ?? ''] ?? [TEXT];
    if (body.stream !== true) {
      answer.writeHead(200, { 'content-type': 'application/json' });
      return void answer.end(responseWith(output));
    }
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    const frames = framesOf(output).join('');
    if (!bytes.includes('breaks'))
      return void answer.end(`${frames}data: {"type":"response.completed","response":${responseWith(output)}}\n\n`);
    answer.write(frames);
    setTimeout(() => answer.destroy(), 50);
  });
  gateway = await startTestGateway(`
providers:
  openai: { base_url: "${upstream.url}/v1", api_key: k }
  r: { type: open-responses, base_url: "${upstream.url}/v1", api_key: k, models: [{ id: m, pricing: { prompt: "0", completion: "0", container: "0.03" } }] }
`);
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** The fee beside 40 tokens of input and 10 of output, or what a stream that breaks off costs. */
async function feeOf(input: string, tools: Json[], more: Json = {}): Promise<{ status: string; fee: number }> {
  const body = { model: 'openai/gpt-5.4', input, tools, ...more };
  const answer = await post(`${gateway.url}/v1/responses`, body, HEADERS.chat);
  await answer.text().catch(() => '');
  const id = String(answer.headers.get('x-polygate-generation-id'));
  const { status, total_cost: cost } = await recordOf(gateway.url, id);
  return { status, fee: Math.round((cost - 40 * 0.0000025 - 10 * 0.000015) * 1000) / 1000 };
}

const CODE = { type: 'code_interpreter', container: { type: 'auto' } };
const HUGE_CODE = { type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } };
const SHELL = { type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_2' } };
const FILES = { type: 'file_search', vector_store_ids: ['vs_1'] };

const WAYS = [
  { name: 'whole', stream: false, suffix: '', status: 'completed' },
  { name: 'in a stream', stream: true, suffix: '', status: 'completed' },
  { name: 'in a stream that breaks off', stream: true, suffix: ' breaks', status: 'partial' },
];

for (const { name, stream, suffix, status } of WAYS) {
  for (const what of [...Object.keys(BROKEN), 'no id', 'one with an id'])
    test(`calls with ${what} as container are one container, ${name}`, { timeout: 20_000 }, async () => {
      assert.deepEqual(await feeOf(`${what}${suffix}`, [CODE], { stream }), { status, fee: 0.03 });
    });

  test(`containers of several sizes cost what the request asks for, ${name}`, async () => {
    assert.deepEqual(await feeOf(`two${suffix}`, [HUGE_CODE, SHELL], { stream }), { status, fee: 65 * 0.03 });
    assert.deepEqual(await feeOf(`two${suffix}`, [CODE, SHELL], { stream }), { status, fee: 0.06 });
  });

  test(`searches in files that failed cost nothing, ${name}`, async () => {
    const { status: ended, fee } = await feeOf(`failed searches${suffix}`, [FILES], { stream });
    assert.deepEqual([ended, fee > 0.0015 && fee < 0.0035], [status, true], `${fee}`);
  });
}

test('a translated answer with a broken id of a container is charged', { timeout: 20_000 }, async () => {
  for (const stream of [false, true]) {
    const messages = [{ role: 'user', content: 'an object' }];
    const body = {
      model: 'r/m',
      messages,
      max_tokens: 100,
      stream,
      provider: { options: { r: { tools: [CODE] } } },
    };
    const answer = await post(`${gateway.url}/anthropic/v1/messages`, body, HEADERS.messages);
    await answer.text();
    const record = await recordOf(gateway.url, String(answer.headers.get('x-polygate-generation-id')));
    assert.deepEqual([answer.status, record.status, record.total_cost], [200, 'completed', 0.03]);
  }
});
