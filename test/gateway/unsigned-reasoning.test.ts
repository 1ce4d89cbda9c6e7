/** Stored reasoning of a model that signs nothing: its own protocol gets the text back, and providers of Responses get none of it. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { startProvider } from '../clients/upstreams.ts';
import { HEADERS, post, startTestGateway, type TestGateway, type TestUpstream } from './harness.ts';

const STEPS = [{ thought: 'I look.', signature: '', calls: [{ id: 'call_1', name: 'f', args: {} }] }, { text: 'Done' }];
const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
const asked = { role: 'user', content: 'Begin.' };
const result = { type: 'function_call_output', call_id: 'call_1', output: 'done' };

let chat: TestUpstream;
let responses: TestUpstream;
let gateway: TestGateway;

before(async () => {
  chat = await startProvider('chat', STEPS);
  responses = await startProvider('responses', STEPS);
  const thinks = '[{ id: m, rules: { reasoning_history: required } }]';
  gateway = await startTestGateway(`
providers:
  chat: { type: openai-compatible, base_url: "${chat.url}/v1", api_key: k, models: ${thinks} }
  responses: { type: open-responses, base_url: "${responses.url}/v1", api_key: k, models: [{ id: m }] }
`);
});
after(async () => {
  await gateway.close();
  await chat.close();
  await responses.close();
});

async function ask(body: Json): Promise<Json> {
  const response = await post(`${gateway.url}/v1/responses`, { tools, ...body }, HEADERS.chat);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

/** Ways to continue the answer of the chat model. */
const WAYS: Record<string, (answer: Json) => Json> = {
  'a chain': ({ id }) => ({ previous_response_id: id, input: [result] }),
  'references to items': ({ output }) => ({
    input: [asked, ...output.map(({ id }: Json) => ({ type: 'item_reference', id })), result],
  }),
};

for (const [way, next] of Object.entries(WAYS)) {
  describe(way, () => {
    test('a provider of Responses gets the call without the reasoning', async () => {
      const answer = await ask({ model: 'chat/m', input: [asked] });
      assert.deepEqual(answer.output[0].summary, [{ type: 'summary_text', text: 'I look.' }]);
      const { id } = await ask({ model: 'responses/m', ...next(answer) });
      const { input } = responses.calls.at(-1)?.body ?? {};
      assert.deepEqual(
        input.map(({ type, role, id }: Json) => [type ?? role, id]),
        [
          ['user', undefined],
          ['function_call', undefined],
          ['function_call_output', undefined],
        ],
      );
      const listed = await fetch(`${gateway.url}/v1/responses/${id}/input_items`, { headers: HEADERS.chat });
      assert.doesNotMatch(await listed.text(), /encrypted_content/);
    });

    test('the chat model gets it back', async () => {
      const answer = await ask({ model: 'chat/m', input: [asked] });
      await ask({ model: 'chat/m', ...next(answer) });
      const message = chat.calls.at(-1)?.body.messages[1];
      assert.equal(message.reasoning_content, 'I look.');
      assert.equal(message.reasoning_details, undefined);
    });
  });
}
