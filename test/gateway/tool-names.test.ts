/** Tool names that one protocol allows and another refuses, through a whole tool loop. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerJson, HEADERS, PATHS, post, startTestGateway, startUpstream } from './harness.ts';

const LONG = `mcp__${'server_'.repeat(12)}_search`;

test('a name that is too long for chat completions is another there and itself for the client', async () => {
  const upstream = await startUpstream((call, response) => {
    const [tool] = call.body.tools;
    const function_ = { name: tool.function.name, arguments: '{}' };
    const message = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: function_ }],
    };
    answerJson(response, {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    });
  });
  const gateway = await startTestGateway(
    `providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] } }`,
  );
  const ask = async (history: object[]) => {
    const tools = [{ name: LONG, input_schema: { type: 'object' } }];
    const body = {
      model: 'a/m',
      max_tokens: 10,
      tools,
      tool_choice: { type: 'tool', name: LONG },
      messages: [{ role: 'user', content: 'go' }, ...history],
    };
    const response = await post(gateway.url + PATHS.messages(), body, HEADERS.messages);
    return (await response.json()) as { content: { name: string }[] };
  };
  const first = await ask([]);
  assert.equal(first.content[0]?.name, LONG);
  await ask([
    { role: 'assistant', content: first.content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'ok' }] },
  ]);
  const [one, two] = upstream.calls.map((call) => call.body);
  const name = one.tools[0].function.name;
  assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  assert.deepEqual(one.tool_choice, { type: 'function', function: { name } });
  assert.equal(two.tools[0].function.name, name);
  assert.equal(two.messages[1].tool_calls[0].function.name, name);
  await gateway.close();
  await upstream.close();
});
