/** Results of tools that clients send twice, alone, or too late. */

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { SPEAKERS } from '../conformance/answers.ts';
import { protocolOf } from '../conformance/rig.ts';
import {
  answerJson,
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

let upstream: TestUpstream;
let gateway: TestGateway;

before(async () => {
  upstream = await startUpstream((call, response) => {
    if (call.path.endsWith('count_tokens')) return answerJson(response, { input_tokens: 42 });
    if (call.path.endsWith(':countTokens')) return answerJson(response, { totalTokens: 43 });
    answerJson(response, SPEAKERS[protocolOf(call.path)].whole({ text: 'Done.' }));
  });
  gateway = await startTestGateway(`
providers:
  chat: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  messages: { type: anthropic, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${upstream.url}", api_key: k, models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

beforeEach(() => {
  upstream.calls.length = 0;
});

const user = (...parts: Json[]) => ({ role: 'user', parts });
const model = (...parts: Json[]) => ({ role: 'model', parts });
const text = (words: string) => ({ text: words });
const call = (id: string) => ({ functionCall: { id, name: 'read_file', args: { path: id } } });
const result = (id: string, output = `contents of ${id}`) => ({
  functionResponse: { id, name: 'read_file', response: { output } },
});

async function ask(target: ProtocolId, contents: Json[], action?: 'countTokens'): Promise<Response> {
  const path = PATHS.generate(`${target}/m`, false);
  const url = gateway.url + (action ? path.replace('generateContent', action) : path);
  return post(url, { contents }, HEADERS.generate);
}

/** Ids and words of all results in a body of each protocol. */
const RESULTS: Record<'chat' | 'messages', (body: Json) => [string, string][]> = {
  chat: ({ messages }) =>
    messages.flatMap((one: Json) => (one.role === 'tool' ? [[one.tool_call_id, one.content]] : [])),
  messages: ({ messages }) =>
    messages
      .flatMap((one: Json) => one.content)
      .flatMap((block: Json) => (block.type === 'tool_result' ? [[block.tool_use_id, block.content]] : [])),
};

for (const target of ['chat', 'messages'] as const) {
  const results = () => RESULTS[target](upstream.calls.at(-1)?.body);

  describe(`Gemini CLI's results on the way to ${target}`, () => {
    const begin = [user(text('Read both')), model(call('a'), call('b'))];
    const both = [
      ['a', 'contents of a'],
      ['b', 'contents of b'],
    ];

    test('one that stands there twice counts once, and takes no other call’s place', async () => {
      const response = await ask(target, [...begin, user(result('a'), result('a'), result('b'))]);
      assert.equal(response.status, 200, await response.text());
      assert.equal(response.headers.get('x-polygate-dropped'), null);
      assert.deepEqual(results(), both);
    });

    test('one that comes again after the next answer counts once', async () => {
      const again = [user(result('a'), result('b')), model(call('c')), user(result('a'), result('c'))];
      const response = await ask(target, [...begin, ...again]);
      assert.equal(response.status, 200, await response.text());
      assert.deepEqual(results(), [...both, ['c', 'contents of c']]);
    });

    test('of two that differ the later one counts, and the header says so', async () => {
      const response = await ask(target, [...begin, user(result('a'), result('b')), user(result('a', 'new'))]);
      assert.equal(response.status, 200, await response.text());
      assert.equal(response.headers.get('x-polygate-dropped'), 'contents.parts.functionResponse');
      assert.deepEqual(results(), [['a', 'new'], both[1]]);
    });

    test('the error says which call is missing, and what to do', async () => {
      const alone = await ask(target, [user(result('a'))]);
      assert.equal(alone.status, 400);
      const { message } = ((await alone.json()) as Json).error;
      assert.match(
        message,
        /the call "a" of "read_file", which no earlier turn of the assistant makes; send that turn/,
      );
      const late = await ask(target, [
        user(text('x')),
        model(call('a')),
        user(text('wait')),
        model(text('ok')),
        user(result('a')),
      ]);
      assert.match(((await late.json()) as Json).error.message, /another turn of the assistant stands between them/);
      assert.equal(upstream.calls.length, 0);
    });
  });
}

test('countTokens of the last content alone counts what the result says', async () => {
  for (const target of ['chat', 'messages', 'generate'] as const) {
    const response = await ask(target, [user(result('a'))], 'countTokens');
    assert.equal(response.status, 200);
    const { totalTokens } = (await response.json()) as Json;
    if (target === 'chat') assert.ok(totalTokens > 3);
    else assert.equal(totalTokens, target === 'messages' ? 42 : 43);
  }
  const [counted] = upstream.calls.filter(({ path }) => path.endsWith('count_tokens'));
  assert.deepEqual(counted?.body.messages, [{ role: 'user', content: [{ type: 'text', text: 'contents of a' }] }]);
});

test('a messages client’s result alone is counted by generate', async () => {
  const content = [{ type: 'tool_result', tool_use_id: 'a', content: 'contents of a' }];
  const body = { model: 'generate/m', messages: [{ role: 'user', content }] };
  const response = await post(`${gateway.url}/anthropic/v1/messages/count_tokens`, body, HEADERS.messages);
  assert.deepEqual([response.status, await response.json()], [200, { input_tokens: 43 }]);
});

describe('Qwen Code’s thinking budget', () => {
  const ask = (model: string, change: Json = {}) =>
    post(
      `${gateway.url}/anthropic/v1/messages`,
      {
        ...{ model, max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 4000 } },
        ...{ messages: [{ role: 'user', content: 'hi' }], ...change },
      },
      { ...HEADERS.messages, 'anthropic-beta': 'interleaved-thinking-2025-05-14' },
    );

  test('that is all of max_tokens goes to an upstream of messages as it came', async () => {
    const response = await ask('messages/m');
    assert.equal(response.status, 200, await response.text());
    assert.equal(upstream.calls[0]?.body.thinking.budget_tokens, 4000);
  });

  test('is made to fit for others', async () => {
    assert.equal((await ask('chat/m')).status, 200);
    const response = await ask('generate/m', { thinking: { type: 'enabled', budget_tokens: 9000 } });
    assert.equal(response.status, 200, await response.text());
  });
});
