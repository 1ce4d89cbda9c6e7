/** Acceptance of Open Responses: its cases, over models of each protocol, with every response and event held to its schemas. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { completed, eventsOf, itemsOf } from '../clients/responses-provider.ts';
import type { Step, UpstreamProtocol } from '../clients/upstreams.ts';
import { answerEvents, answerJson, HEADERS, post } from '../gateway/harness.ts';
import { connect } from '../gateway/websocket-client.ts';
import { frame } from '../protocols/responses-wire.ts';
import { blocksOf } from '../validators/frames.ts';
import { problemsOf, problemsOfEvent } from '../validators/open-responses/check.ts';
import { speak, useRig } from './rig.ts';

const rig = useRig({ providers: '  d: { type: open-responses, base_url: "URL/v1", models: [{ id: m }] }' });
const MODELS: Record<UpstreamProtocol, string> = { chat: 'a/m', messages: 'b/m', generate: 'c/m', responses: 'd/m' };
const PNG = 'data:image/png;base64,iVBORw0KGgo=';

const TEXT: Step = { text: 'Ahoy there, Alice 🦊' };
const CALL: Step = {
  ...{ thought: 'I must look.', signature: 'c2ln' },
  calls: [{ id: 'call_1', name: 'get_weather', args: { location: 'Zürich' } }],
};
const TOOL = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather at a place',
  parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};

const says = (role: string, content: unknown) => ({ type: 'message', role, content });

/** The cases of the acceptance tests by their ids, and requests with the other members that a response repeats. */
const CASES: Record<string, { body: Json; step: Step }> = {
  'basic-response': { body: { input: [says('user', 'Say hello.')] }, step: TEXT },
  'system-prompt': { body: { input: [says('system', 'Be a pirate.'), says('user', 'Say hello.')] }, step: TEXT },
  'tool-calling': { body: { input: [says('user', 'How is the weather?')], tools: [TOOL] }, step: CALL },
  'image-input': {
    body: {
      input: [
        says('user', [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: PNG },
        ]),
      ],
    },
    step: TEXT,
  },
  'multi-turn': {
    body: { input: [says('user', 'I am Alice.'), says('assistant', 'Hello Alice!'), says('user', 'Who am I?')] },
    step: TEXT,
  },
  'tool-result': {
    body: {
      input: [
        says('user', 'How is the weather?'),
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"location":"Bern"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
      ],
      tools: [TOOL],
    },
    step: TEXT,
  },
  'with parameters': {
    body: {
      ...{ input: 'Hi', instructions: 'Be brief.', temperature: 0.5, top_p: 0.9, max_output_tokens: 400 },
      ...{ metadata: { a: 'b' }, reasoning: { effort: 'low', summary: 'auto' }, text: { verbosity: 'low' } },
      ...{ tools: [TOOL], tool_choice: { type: 'function', name: 'get_weather' }, parallel_tool_calls: true },
      ...{ include: ['reasoning.encrypted_content'], truncation: 'disabled', safety_identifier: 'me' },
    },
    step: CALL,
  },
  'with allowed tools': {
    body: {
      ...{ input: 'Hi', tools: [TOOL], store: false },
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'get_weather' }] },
    },
    step: CALL,
  },
  'with JSON': { body: { input: 'Hi in JSON', text: { format: { type: 'json_object' } } }, step: { text: '{}' } },
};

/** What the model does, in the protocol that it is asked in. */
function play(step: Step): void {
  const said = 'text' in step ? step : { reasoning: step.thought, signature: step.signature, calls: step.calls };
  rig.answer((call, response) => {
    if (!call.path.endsWith('/responses')) return speak(said)(call, response);
    const items = itemsOf(step, call.body);
    if (call.body.stream) answerEvents(response, eventsOf(items).map(frame).join(''));
    else answerJson(response, completed(items));
  });
}

function send(protocol: UpstreamProtocol, body: Json): Promise<Response> {
  return post(`${rig.gateway.url}/v1/responses`, { model: MODELS[protocol], ...body }, HEADERS.chat);
}

async function whole(protocol: UpstreamProtocol, body: Json): Promise<Json> {
  const response = await send(protocol, body);
  const object = (await response.json()) as Json;
  assert.equal(response.status, 200, JSON.stringify(object));
  assert.deepEqual(problemsOf(object, 'ResponseResource'), []);
  return object;
}

async function streamed(protocol: UpstreamProtocol, body: Json): Promise<Json[]> {
  const response = await send(protocol, { ...body, stream: true });
  const blocks = blocksOf(await response.text()).filter(({ data }) => data !== undefined);
  const events = blocks.map(({ data = '' }) => JSON.parse(data));
  assert.deepEqual(events.flatMap(problemsOfEvent), []);
  return events;
}

function checkOutput({ status, output, model }: Json, protocol: UpstreamProtocol, step: Step): void {
  assert.deepEqual([status, model], ['completed', MODELS[protocol]]);
  const last = output.at(-1);
  if ('text' in step) assert.equal(last.content[0].text, step.text);
  else assert.deepEqual([last.type, last.name, last.call_id !== ''], ['function_call', 'get_weather', true]);
}

for (const protocol of Object.keys(MODELS) as UpstreamProtocol[]) {
  describe(`Open Responses over ${protocol} (checklist 90, 93, 111)`, () => {
    for (const [id, { body, step }] of Object.entries(CASES)) {
      test(id, async () => {
        play(step);
        checkOutput(await whole(protocol, body), protocol, step);
      });

      test(`${id}, streamed`, async () => {
        play(step);
        const events = await streamed(protocol, body);
        const { type, response } = events.at(-1);
        assert.equal(type, 'response.completed');
        checkOutput(response, protocol, step);
        if ('text' in step) return;
        const kinds = events.map(({ type, item }) => (item ? `${type} ${item.type}` : type));
        for (const kind of [
          'response.output_item.added function_call',
          'response.function_call_arguments.delta',
          'response.function_call_arguments.done',
          'response.output_item.done function_call',
        ])
          assert.ok(kinds.includes(kind), `${kind} is missing`);
      });
    }
  });
}

for (const protocol of ['chat', 'messages', 'generate'] as const) {
  test(`over ${protocol}, a response repeats the JSON Schema of its request, which the specification has as null`, async () => {
    play({ text: '{}' });
    const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
    const format = { type: 'json_schema', name: 'nothing', schema, strict: true };
    const response = await send(protocol, { input: 'Hi', text: { format } });
    const problems = problemsOf((await response.json()) as Json, 'ResponseResource');
    // OpenAI repeats it too, and its SDKs expect that.
    assert.deepEqual(problems, [`ResponseResource.text.format.schema: ${JSON.stringify(schema)} is not null`]);
  });

  test(`what ends early over ${protocol} keeps to the schemas too`, async () => {
    rig.say({ text: 'Hel', finish: { chat: 'length', messages: 'max_tokens', generate: 'MAX_TOKENS' }[protocol] });
    assert.equal((await whole(protocol, { input: 'Hi' })).status, 'incomplete');
    assert.equal((await streamed(protocol, { input: 'Hi' })).at(-1).type, 'response.incomplete');
    rig.say({ text: '', finish: { chat: 'content_filter', messages: 'refusal', generate: 'SAFETY' }[protocol] });
    await whole(protocol, { input: 'Hi' });
    await streamed(protocol, { input: 'Hi' });
  });
}

test('errors have the members of the specification (checklist 111)', async () => {
  for (const body of [{ input: 7 }, { input: 'Hi', temperature: 9 }, { input: 'Hi', model: 'a/none' }]) {
    const response = await send('chat', body);
    assert.ok(response.status >= 400);
    assert.deepEqual(problemsOf(((await response.json()) as Json).error, 'ErrorPayload'), []);
  }
});

test('messages of a WebSocket are the events of a stream, and errors those of the specification', async () => {
  play(CALL);
  const socket = await connect(rig.gateway.url, { headers: HEADERS.chat });
  socket.send({ type: 'response.create', model: MODELS.messages, input: 'Hi', tools: [TOOL] });
  assert.deepEqual((await socket.response()).flatMap(problemsOfEvent), []);
  const refused = await socket.ask({ model: MODELS.chat, input: 'Hi', previous_response_id: 'resp_none' });
  assert.deepEqual(problemsOf(refused, 'WebSocketErrorEvent'), []);
  assert.equal(refused.error.code, 'previous_response_not_found');
  await socket.close();
});

test('a check finds a member that is missing, of another type or unknown', async () => {
  play(TEXT);
  const [, , added, ...rest] = await streamed('chat', { input: 'Hi' });
  assert.deepEqual(problemsOfEvent({ ...added, output_index: '0' }), [
    'ResponseOutputItemAddedStreamingEvent.output_index: "0" is not integer',
  ]);
  const { response } = rest.at(-1);
  const { top_p, ...lacking } = response;
  assert.equal(typeof top_p, 'number');
  assert.deepEqual(problemsOf(lacking, 'ResponseResource'), ['ResponseResource.top_p is missing']);
  assert.deepEqual(problemsOf({ ...response, output: [{ type: 'message' }] }, 'ResponseResource').length, 4);
  assert.deepEqual(problemsOfEvent({ type: 'response.other' }), ['response.other: no event of the specification']);
});
