/** Model servers of this machine, found at the usual addresses of their types by operators. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import {
  type Answerer,
  answerJson,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { CLOSED_URL, OLLAMA_LIST, typesAt } from './local-types.ts';

let upstreams: TestUpstream[];
let gateway: TestGateway;
let answerOllama: Answerer;

async function start(answer: Answerer): Promise<TestUpstream> {
  const upstream = await startUpstream(answer);
  upstreams.push(upstream);
  return upstream;
}

async function find(other = gateway): Promise<Json[]> {
  const { status, body } = await askAdmin(other.adminUrl, 'POST', '/providers/local');
  assert.equal(status, 200);
  return body.data;
}

before(async () => {
  upstreams = [];
  const ollama = await start((call, response) => answerOllama(call, response));
  const vllm = await start((_call, response) => answerJson(response, { error: 'no key' }, 401));
  const page = await start((_call, response) => answerJson(response, { hello: 'world' }));
  const endless = await start((_call, response) => void response.writeHead(200).end('x'.repeat(1024 * 1024 + 1)));
  const types = typesAt({
    ollama: ollama.url,
    vllm: vllm.url,
    'llama-cpp': page.url,
    'lm-studio': CLOSED_URL,
    endless: endless.url,
    elsewhere: 'https://models.example',
  });
  const yaml = `${ADMIN_CONFIG}providers: { vllm: { base_url: "https://vllm.example/v1" }, mine: { type: openai-compatible, base_url: "http://localhost:${new URL(page.url).port}/v1", models: [{ id: m }] } }`;
  gateway = await startTestGateway(yaml, { providerTypes: types });
});
after(async () => {
  await gateway.close();
  await Promise.all(upstreams.map(({ close }) => close()));
});

test('a server is found with the names of its first models and the lines that add it', async () => {
  answerOllama = (_call, response) => answerJson(response, OLLAMA_LIST);
  const found = await find();
  assert.deepEqual(
    found.map(({ type, state }) => [type, state]),
    [
      ['ollama', 'found'],
      ['vllm', 'unclear'],
      ['llama-cpp', 'unclear'],
      ['lm-studio', 'absent'],
      ['endless', 'unclear'],
    ],
  );
  const [ollama, vllm, page, , endless] = found;
  assert.deepEqual(
    [ollama.models, ollama.first_models[0], ollama.first_models.length, ollama.configured_as],
    [6, 'ollama/qwen3:8b', 5, []],
  );
  assert.equal(ollama.lines, 'providers:\n  ollama: {}\n');
  assert.equal(vllm.problem, 'It answered with status 401 when asked for its models.');
  assert.equal(vllm.lines, 'providers:\n  vllm-local:\n    type: vllm\n');
  assert.deepEqual(
    [page.problem, page.configured_as],
    ['It answered with something that is no list of models.', ['mine']],
  );
  assert.equal(endless.problem, 'Its list of models has no end.');
  const [{ path, headers } = { path: '', headers: {} as Json }] = upstreams[0]?.calls ?? [];
  assert.equal(path, '/v1/models');
  assert.equal(headers.authorization, undefined);
});

test('a server without models is found, and its names are of bounded length', async () => {
  answerOllama = (_call, response) => answerJson(response, { object: 'list', data: null });
  assert.deepEqual([(await find())[0].state, (await find())[0].models], ['found', 0]);
  answerOllama = (_call, response) => answerJson(response, { data: [{ id: 'x'.repeat(100_000) }] });
  assert.equal((await find())[0].first_models[0].length, 200);
});

test('a server that never ends its answer is given up', async () => {
  answerOllama = (_call, response) => void response.writeHead(200).write('{"data":[');
  const [ollama] = await find();
  assert.deepEqual([ollama.state, ollama.models], ['unclear', 0]);
  assert.match(ollama.problem, /before the deadline|middle/);
});

test('an address of the gateway itself is not asked', async () => {
  const types = typesAt({ ollama: CLOSED_URL, 'lm-studio': CLOSED_URL });
  const other = await startTestGateway(ADMIN_CONFIG, { providerTypes: types });
  for (const [id, type] of typesAt({ 'llama-cpp': other.url, vllm: other.adminUrl })) {
    if (['llama-cpp', 'vllm'].includes(id)) types.set(id, type);
  }
  const found = await find(other);
  await other.close();
  const stateOf = (id: string) => found.find(({ type }) => type === id)?.state;
  assert.deepEqual([stateOf('llama-cpp'), stateOf('vllm')], ['itself', 'itself']);
});
