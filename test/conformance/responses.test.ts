/** Conformance: Responses clients with models of the other protocols. `R` and a number is a statement of the test's own name. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { answerEvents, HEADERS, type ProtocolId, post } from '../gateway/harness.ts';
import { assertResponse } from '../validators/response-object.ts';
import { checkResponsesStream } from '../validators/responses.ts';
import { frame, type Said, SPEAKERS } from './answers.ts';
import { IDS, MODELS, speak, useRig } from './rig.ts';

const rig = useRig();
const SAID: Said = {
  reasoning: 'I think.',
  signature: 'c2ln',
  text: 'Grüß dich 🦊',
  calls: [
    { id: 'call_1', name: 'f', args: { a: 1 } },
    { id: 'call_2', name: 'f', args: {} },
  ],
};
const F = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false };
const STATE = { include: ['reasoning.encrypted_content'], store: false };

function ask(protocol: ProtocolId, change: Json): Promise<Response> {
  const body = { model: MODELS[protocol], input: 'Hi', store: false, ...change };
  return post(`${rig.gateway.url}/v1/responses`, body, HEADERS.chat);
}

async function whole(protocol: ProtocolId, change: Json = {}): Promise<Json> {
  const response = await ask(protocol, change);
  const body = (await response.json()) as Json;
  assert.equal(response.status, 200, JSON.stringify(body));
  return body;
}

async function streamed(protocol: ProtocolId, change: Json = {}): Promise<Json[]> {
  const text = await (await ask(protocol, { ...change, stream: true })).text();
  assert.ok(!text.includes('[DONE]'));
  return checkResponsesStream(text).data;
}

async function refused(change: Json, param: string, protocol: ProtocolId = 'chat'): Promise<void> {
  const response = await ask(protocol, change);
  const { error } = (await response.json()) as Json;
  assert.deepEqual([response.status, error?.param], [400, param], JSON.stringify(error));
  assert.equal(rig.upstream.calls.length, 0);
}

for (const protocol of IDS) {
  describe(`over ${protocol}`, () => {
    test('a whole answer has all members, ids and counts (checklist 90, 91, 92)', async () => {
      rig.say(SAID);
      const response = await whole(protocol, { ...STATE, tools: [F], metadata: { a: 'b' } });
      assertResponse(response);
      assert.deepEqual(
        [response.model, response.status, response.metadata],
        [MODELS[protocol], 'completed', { a: 'b' }],
      );
      assert.deepEqual(response.tools, [{ ...F, description: null }]);
    });

    test('a stream has every event in order, and its end is what was streamed (checklist 93, 94)', async () => {
      rig.say(SAID);
      const events = await streamed(protocol, { ...STATE, tools: [F] });
      const { response } = events.at(-1);
      const kinds = response.output.map(({ type }: Json) => type).filter((type: string) => type !== 'reasoning');
      assert.deepEqual(kinds, ['message', 'function_call', 'function_call']);
    });

    test('reasoning is a summary; its state is there if it was asked for (checklist 97)', async () => {
      rig.say(SAID);
      const has = (items: Json[]) => items.some((item) => item.encrypted_content);
      const { output } = await whole(protocol, { tools: [F] });
      assert.equal(output[0].summary[0].text, 'I think.');
      assert.equal(has(output), false);
      assert.equal(has((await whole(protocol, { ...STATE, tools: [F] })).output), true);
    });

    test('reasoning without state has a placeholder, which reaches no upstream', async () => {
      rig.say({ reasoning: 'I think.', signature: '', text: 'Done.' });
      for (const stream of [false, true]) {
        const { output } = stream ? (await streamed(protocol, STATE)).at(-1).response : await whole(protocol, STATE);
        const placeholder = output[0].encrypted_content;
        assert.equal(output[0].summary[0].text, 'I think.');
        assert.equal(typeof placeholder, 'string');
        await whole(protocol, { ...STATE, input: [...output, { role: 'user', content: 'On.' }] });
        assert.equal(rig.upstream.calls.at(-1)?.bytes.includes(placeholder), false);
      }
    });

    test('an answer that the limit cut off is incomplete (checklist 95)', async () => {
      rig.say({ text: 'Hel', finish: { chat: 'length', messages: 'max_tokens', generate: 'MAX_TOKENS' }[protocol] });
      const response = await whole(protocol);
      assertResponse(response);
      assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
      assert.equal((await streamed(protocol)).at(-1).type, 'response.incomplete');
    });

    test('a stream that its provider cuts ends with response.failed (checklist 95)', async () => {
      const frames = SPEAKERS[protocol].stream({ text: 'Hello there' }).split(/(?<=\n\n)/);
      rig.answer((_call, response) =>
        answerEvents(response, frames.slice(0, { chat: 2, messages: 3, generate: 1 }[protocol]).join('')),
      );
      const events = await streamed(protocol);
      assert.equal(events.at(-1).type, 'response.failed');
      assert.equal(events.at(-1).response.error.code, 'server_error');
    });

    test('a free-text tool is a function; its call comes back as free text, whole and streamed (checklist 99)', async () => {
      const input = 'print("1")\n🦊';
      rig.say({ calls: [{ id: 'call_1', name: 'exec', args: { input } }] });
      const format = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' };
      const change = { tools: [{ type: 'custom', name: 'exec', description: 'Runs.', format }] };
      const response = await ask(protocol, change);
      assert.match(response.headers.get('x-polygate-dropped') ?? '', /tools\.format/);
      const [item] = ((await response.json()) as Json).output;
      assert.deepEqual([item.type, item.name, item.input], ['custom_tool_call', 'exec', input]);
      const events = await streamed(protocol, change);
      const types = new Set(events.map(({ type }) => type).filter((type) => /arguments|input/.test(type)));
      assert.deepEqual([...types], ['response.custom_tool_call_input.delta', 'response.custom_tool_call_input.done']);
      assert.ok(rig.upstream.calls.every(({ bytes }) => bytes.includes('start: /.+/')));
    });

    test('a call comes back with the namespace of its tool, also of one that joined later (checklist 99)', async () => {
      rig.say({ calls: [{ id: 'call_1', name: 'docs__f', args: {} }] });
      const joined = {
        type: 'additional_tools',
        role: 'developer',
        tools: [{ type: 'namespace', name: 'docs', tools: [F] }],
      };
      const [item] = (await whole(protocol, { tools: [F], input: [joined, { role: 'user', content: 'Hi' }] })).output;
      assert.deepEqual([item.type, item.namespace, item.name], ['function_call', 'docs', 'f']);
    });
  });
}

test('an error before the start has its status; after it, one response.failed with a code that says whether to repeat (checklist 96)', async () => {
  const chunk = (more: Json) => frame({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...more });
  const begun = chunk({ choices: [{ index: 0, delta: { content: 'One' }, finish_reason: null }] });
  for (const [code, expected] of [
    ['content_policy_violation', 'invalid_prompt'],
    ['rate_limit_exceeded', 'rate_limit_exceeded'],
    ['server_error', 'server_error'],
  ]) {
    rig.answer((_call, response) => answerEvents(response, begun + chunk({ error: { code, message: 'No.' } })));
    const { type, response } = (await streamed('chat')).at(-1);
    assert.deepEqual([type, response.error.code], ['response.failed', expected]);
  }
  rig.upstream.calls.length = 0;
  await refused({ temperature: 7 }, 'temperature');
});

test('instructions come first, system and developer messages stay where they are (checklist 100)', async () => {
  await whole('chat', {
    instructions: 'One',
    input: [
      { role: 'developer', content: 'Two' },
      { role: 'user', content: 'Hi' },
    ],
  });
  assert.deepEqual(
    rig.sent().body.messages.map(({ content }: Json) => content),
    ['One', 'Two', 'Hi'],
  );
});

test('a tool that only its provider runs is refused by name; web search beside other tools is dropped by name (checklist 101)', async () => {
  for (const type of ['file_search', 'code_interpreter', 'image_generation', 'mcp', 'computer'])
    await refused({ tools: [F, { type }] }, 'tools[1].type');
  const response = await ask('chat', { tools: [F, { type: 'web_search' }] });
  assert.match(response.headers.get('x-polygate-dropped') ?? '', /tools\.web_search/);
  assert.equal(response.status, 200);
});

test('parallel calls that come mixed go out one after the other (checklist 94)', async () => {
  const piece = (index: number, call: Json) => ({
    choices: [{ index: 0, delta: { tool_calls: [{ index, ...call }] } }],
  });
  const chunks = [
    piece(0, { id: 'call_1', function: { name: 'f', arguments: '{"a"' } }),
    piece(1, { id: 'call_2', function: { name: 'f', arguments: '{"b"' } }),
    piece(0, { function: { arguments: ':1}' } }),
    piece(1, { function: { arguments: ':2}' } }),
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ].map((chunk) => frame({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...chunk }));
  rig.answer((_call, response) => answerEvents(response, `${chunks.join('')}data: [DONE]\n\n`));
  const { output } = (await streamed('chat', { tools: [F] })).at(-1).response;
  assert.deepEqual(
    output.map((item: Json) => item.arguments),
    ['{"a":1}', '{"b":2}'],
  );
});

test('state of another provider never reaches a model (checklist 97)', async () => {
  rig.answer(speak({ text: 'Hello' }));
  const foreign = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA-sealed-elsewhere' };
  for (const protocol of IDS)
    await whole(protocol, { input: [{ role: 'user', content: 'A' }, foreign, { role: 'user', content: 'B' }] });
  assert.ok(rig.upstream.calls.every(({ bytes }) => !bytes.includes('sealed-elsewhere')));
});
