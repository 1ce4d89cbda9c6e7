/** Clients that name stored responses, on providers of every protocol: the AI SDK's default model, and the official SDK. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, jsonSchema, type ModelMessage, streamText, tool } from 'ai';
import type { Json } from '../../src/core/json/json.ts';
import { KEY, startTestGateway, type TestGateway } from '../gateway/harness.ts';
import { lastText, messageOf, type ResponsesUpstream, startResponsesUpstream } from '../gateway/responses-upstream.ts';
import { judge } from './judge.ts';
import { openaiClients, openaiOf } from './openai.ts';
import { type ProvidedGateway, startProvidedGateway } from './provided-gateway.ts';
import { type Step, TEXT } from './upstreams.ts';

const STEPS: Step[] = [
  {
    ...{ thought: 'I must look. 🤔', signature: 'c2lnbmVkIG9uY2U=' },
    calls: [{ id: 'call_1', name: 'weather', args: { city: 'Zürich' } }],
  },
  {
    ...{ thought: 'Now both.', signature: 'c2lnbmVkIHR3aWNl' },
    calls: [
      { id: 'call_2', name: 'weather', args: { city: 'Bern' } },
      { id: 'call_3', name: 'clock', args: {} },
    ],
  },
  { text: TEXT },
];
const TRANSLATED = ['chat', 'messages', 'generate'] as const;
const RESPONSES = ['plain', 'keeping'] as const;

let provided: ProvidedGateway;
let gateway: TestGateway;
let upstreams: Record<(typeof RESPONSES)[number], ResponsesUpstream>;

/** Calls as in `STEPS`, by the number of results in the input. */
function outputFor(body: Json, number: number): Json[] {
  const input: Json[] = Array.isArray(body.input) ? body.input : [];
  const asked = input.findLastIndex(({ role }) => role === 'user');
  const results = input.slice(asked).filter(({ type }) => type === 'function_call_output').length;
  const step = body.tools?.length > 0 ? STEPS[results === 0 ? 0 : results === 1 ? 1 : 2] : undefined;
  if (!step || 'text' in step) return [messageOf(`msg_${number}`, step ? TEXT : `You said: ${lastText(body.input)}`)];
  return step.calls.map(({ id, name, args }, index) => ({
    ...{ id: `fc_${number}_${index}`, type: 'function_call', status: 'completed' },
    ...{ call_id: id, name, arguments: JSON.stringify(args) },
  }));
}

before(async () => {
  provided = await startProvidedGateway(STEPS);
  upstreams = {
    plain: await startResponsesUpstream({ keeps: false, prefix: 'p' }),
    keeping: await startResponsesUpstream({ keeps: true, prefix: 'k' }),
  };
  for (const upstream of Object.values(upstreams)) upstream.output = outputFor;
  gateway = await startTestGateway(`
providers:
  plain: { type: open-responses, base_url: "${upstreams.plain.url}/v1", models: [{ id: m }] }
  keeping: { type: openai, base_url: "${upstreams.keeping.url}/v1", api_keys: [one, two], models: [{ id: m }] }
`);
});
after(async () => {
  await gateway.close();
  await provided.close();
  for (const upstream of Object.values(upstreams)) await upstream.close();
});

const tools = {
  weather: tool({
    inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
    execute: async ({ city }) => `sunny in ${city}`,
  }),
  clock: tool({ inputSchema: jsonSchema({ type: 'object', properties: {} }), execute: async () => 'noon' }),
};

/** Names of gateways and models on each wire. */
const MODELS = [
  ...TRANSLATED.map((protocol) => ({ name: `${protocol}/m`, url: () => provided.url })),
  ...RESPONSES.map((name) => ({ name: `${name}/m`, url: () => gateway.url })),
];

describe('the default model of the AI SDK, which refers to items of earlier answers (checklist 104)', () => {
  for (const { name, url } of MODELS) {
    const model = () => createOpenAI({ baseURL: `${url()}/v1`, apiKey: KEY })(name);
    for (const stream of [false, true]) {
      test(`${name} in a tool loop of three steps and a second turn, ${stream ? 'streamed' : 'whole'}`, async () => {
        const messages: ModelMessage[] = [{ role: 'user', content: 'Weather?' }];
        const params = { model: model(), tools, stopWhen: isStepCount(5), maxOutputTokens: 4000 };
        const first = stream ? streamText({ ...params, messages }) : await generateText({ ...params, messages });
        assert.equal(await first.text, TEXT);
        const steps = await first.steps;
        const calls = steps.map(({ toolCalls }) => toolCalls.map(({ toolName, input }) => [toolName, input]));
        assert.deepEqual(calls, [
          [['weather', { city: 'Zürich' }]],
          [
            ['weather', { city: 'Bern' }],
            ['clock', {}],
          ],
          [],
        ]);
        messages.push(...(await first.response).messages, { role: 'user', content: 'Thanks. And?' });
        const second = stream ? streamText({ ...params, messages }) : await generateText({ ...params, messages });
        assert.ok((await second.text).length > 0);
      });
    }
  }

  test('the history that a provider gets is whole', async () => {
    const model = createOpenAI({ baseURL: `${provided.url}/v1`, apiKey: KEY })('messages/m');
    const messages: ModelMessage[] = [{ role: 'user', content: 'Weather?' }];
    await generateText({ model, tools, messages, stopWhen: isStepCount(5), maxOutputTokens: 4000 });
    const { body } = provided.lastCall('messages') ?? {};
    const kinds = body.messages.map(({ role, content }: Json) => [
      role,
      typeof content === 'string'
        ? 'text'
        : content.map(({ type }: Json) => type).filter((type: string) => type !== 'thinking'),
    ]);
    assert.deepEqual(kinds.slice(1), [
      ['assistant', ['tool_use']],
      ['user', ['tool_result']],
      ['assistant', ['tool_use', 'tool_use']],
      ['user', ['tool_result', 'tool_result']],
    ]);
    // State that the client did not ask for goes back to the provider that made it.
    for (const step of STEPS)
      if ('signature' in step) assert.ok(provided.lastCall('messages')?.bytes.includes(`"${step.signature}"`));
  });
});

for (const { name, url } of MODELS) {
  describe(name, () => {
    judge(
      openaiClients(() => ({ url: url(), key: KEY })),
      {
        'previous_response_id, retrieve, inputItems and delete': async (client) => {
          const first = await client.responses.create({ model: name, input: 'One', metadata: { a: 'b' } });
          assert.equal((first as Json).store, name !== 'plain/m');
          const found = await client.responses.retrieve(first.id);
          assert.deepEqual(
            [found.output, found.status, found.model, found.metadata, found.id],
            [first.output, first.status, first.model, first.metadata, first.id],
          );
          const second = await client.responses
            .stream({ model: name, input: 'Two', previous_response_id: first.id })
            .finalResponse();
          assert.equal(second.status, 'completed');
          assert.equal(second.previous_response_id, first.id);
          const again = await client.responses.retrieve(second.id);
          assert.deepEqual(
            again.output.map(({ id }) => id),
            second.output.map(({ id }) => id),
          );
          const page = await client.responses.inputItems.list(second.id, { order: 'asc', limit: 1 });
          const items: Json[] = [];
          for await (const item of page) items.push(item);
          const expected = name === 'keeping/m' ? 1 : 2 + first.output.length;
          assert.equal(items.length, expected);
          for (const { id } of items) assert.equal(typeof id, 'string');
          await client.responses.delete(first.id);
          const isGone = (error: unknown) => error instanceof openaiOf(client).NotFoundError;
          await assert.rejects(client.responses.retrieve(first.id), isGone);
          if (name === 'keeping/m') return;
          const chained = client.responses.create({ model: name, input: 'Three', previous_response_id: second.id });
          await assert.rejects(chained, (error: Json) => error.code === 'previous_response_not_found');
        },

        'a stored response as a stream': async (client) => {
          const first = await client.responses.create({ model: name, input: 'One' });
          let last: Json;
          for await (const event of await client.responses.retrieve(first.id, { stream: true })) last = event;
          assert.equal(last.type, 'response.completed');
          assert.deepEqual(last.response.output, first.output);
        },

        'store: false stores nothing': async (client) => {
          const body = { model: name, input: 'One', store: false } as const;
          const { id, store }: Json = await client.responses.create(body);
          assert.equal(store, false);
          await assert.rejects(client.responses.retrieve(id), (error: Json) => error.status === 404);
        },
      },
    );
  });
}
