/** Clients that split events at every end of a line that Unicode knows get whole texts, and know a wrong key by its words. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ask, PATHS, post, question, startTestGateway, type TestGateway } from './harness.ts';

const TEXT = 'one\u2028two\u2029three\u0085four';

let gateway: TestGateway;
before(async () => {
  gateway = await startTestGateway('providers: { sandbox: { type: sandbox } }');
});
after(() => gateway.close());

for (const protocol of ['messages', 'generate'] as const) {
  test(`a translated stream of ${protocol} has no end of a line within its JSON`, async () => {
    const response = await ask(gateway, { protocol, model: 'sandbox/echo', text: TEXT, stream: true });
    const data = (await response.text()).split(/[\n\r\u0085\u2028\u2029]+/).filter((line) => line.startsWith('data: '));
    const said = data.map((line) => {
      const { delta, candidates } = JSON.parse(line.slice('data: '.length));
      return delta?.text ?? candidates?.[0].content.parts?.[0]?.text ?? '';
    });
    assert.equal(said.join(''), TEXT);
  });
}

test('LiteLLM tells a wrong key from a bad request by these words', async () => {
  const body = question('chat', 'sandbox/echo', 'Hi');
  const response = await post(gateway.url + PATHS.chat(), body, { authorization: 'Bearer sk-x' });
  const { error }: Json = await response.json();
  assert.match(error.message, /Incorrect API key provided/);
});
