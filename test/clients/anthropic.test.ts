/** The official messages SDK against the sandbox: everything that succeeds. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type Anthropic from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import { anthropicClients } from './anthropic.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { collect, GREETING, judge, ODD, PDF, PERSON, PNG, WEATHER, WEATHER_ARGS } from './judge.ts';

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

type Content = Anthropic.MessageParam['content'];
type Params = Partial<Anthropic.MessageCreateParamsNonStreaming>;

const weather: Anthropic.Tool = {
  name: 'weather',
  description: 'The weather in a city',
  input_schema: { ...WEATHER, required: [...WEATHER.required] },
};
const clock: Anthropic.Tool = { name: 'clock', input_schema: { type: 'object' } };

function question(content: Content, more: Params = {}): Anthropic.MessageCreateParamsNonStreaming {
  return { model: 'sandbox/echo', max_tokens: 1000, messages: [{ role: 'user', content }], ...more };
}

function textOf({ content }: { content: Anthropic.ContentBlock[] }): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

function callsOf({ content }: { content: Anthropic.ContentBlock[] }): Anthropic.ToolUseBlock[] {
  return content.filter((block) => block.type === 'tool_use');
}

judge(
  anthropicClients(() => gateway),
  {
    'text comes back whole, with the gateway’s model name and a request id (checklist 1, 5, 14, 32)': async (
      client,
    ) => {
      const answer = await client.messages.create(question(ODD));
      assert.equal(textOf(answer), ODD);
      assert.deepEqual([answer.type, answer.role, answer.model], ['message', 'assistant', 'sandbox/echo']);
      assert.deepEqual([answer.stop_reason, answer.stop_sequence], ['end_turn', null]);
      assert.match(answer._request_id ?? '', /^req_/);
    },

    'usage is what the model counted, whole and streamed (checklist 35, 40)': async (client) => {
      const whole = await client.messages.create(question(GREETING));
      const streamed = await client.messages.stream(question(GREETING)).finalMessage();
      for (const { usage } of [whole, streamed]) assert.deepEqual([usage.input_tokens, usage.output_tokens], [4, 4]);
    },

    'a stream is the text, in the protocol’s order of events (checklist 38, 39, 41)': async (client) => {
      const names: string[] = [];
      const text = await collect(await client.messages.create({ ...question(ODD), stream: true }), (event) => {
        if (names.at(-1) !== event.type) names.push(event.type);
        return event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '';
      });
      assert.equal(text, ODD);
      const block = ['content_block_start', 'content_block_delta', 'content_block_stop'];
      assert.deepEqual(
        names.filter((name) => name !== ('ping' as string)),
        ['message_start', ...block, 'message_delta', 'message_stop'],
      );
    },

    'the stream helper makes a whole message of text (checklist 46)': async (client) => {
      const stream = client.messages.stream(question(ODD));
      let text = '';
      stream.on('text', (piece) => {
        text += piece;
      });
      const answer = await stream.finalMessage();
      assert.equal(text, ODD);
      assert.equal(textOf(answer), ODD);
      assert.deepEqual([answer.model, answer.stop_reason], ['sandbox/echo', 'end_turn']);
      assert.match(stream.request_id ?? '', /^req_/);
    },

    'a tool loop: call, result, answer (checklist 36)': async (client) => {
      const params = question('How is the weather?', { model: 'sandbox/tools', tools: [weather, clock] });
      const first = await client.messages.create(params);
      assert.equal(first.stop_reason, 'tool_use');
      const [call] = callsOf(first);
      assert.deepEqual(call?.input, WEATHER_ARGS);
      const result: Content = [
        { type: 'tool_result', tool_use_id: call?.id ?? '', content: [{ type: 'text', text: 'sunny' }] },
      ];
      const { content } = first;
      const messages: Anthropic.MessageParam[] = [
        ...params.messages,
        { role: 'assistant', content },
        { role: 'user', content: result },
      ];
      const last = await client.messages.create({ ...params, messages });
      assert.equal(textOf(last), 'weather answered: sunny');
      assert.equal(last.stop_reason, 'end_turn');
    },

    'the SDK runs the tools itself, whole and streamed': async (client) => {
      const tools = [weather, clock].map(({ name, input_schema }) => ({
        type: 'custom' as const,
        name,
        input_schema: { ...input_schema },
        description: name,
        parse: (input: unknown) => input,
        run: () => `ran ${name}`,
      }));
      for (const stream of [false, true]) {
        const runner = client.beta.messages.toolRunner({
          model: 'sandbox/tools',
          max_tokens: 1000,
          messages: [{ role: 'user', content: 'All in parallel' }],
          tools,
          stream,
        });
        const [block] = (await runner.runUntilDone()).content;
        assert.equal(block?.type === 'text' && block.text, 'weather answered: ran weather\nclock answered: ran clock');
      }
    },

    'parallel calls arrive whole and streamed, their arguments in pieces (checklist 43, 46)': async (client) => {
      const params = question('All in parallel', { model: 'sandbox/tools', tools: [weather, clock] });
      const stream = client.messages.stream(params);
      let json = '';
      stream.on('inputJson', (piece) => {
        json += piece;
      });
      const streamed = callsOf(await stream.finalMessage());
      for (const calls of [callsOf(await client.messages.create(params)), streamed]) {
        assert.deepEqual(
          calls.map(({ name }) => name),
          ['weather', 'clock'],
        );
        assert.deepEqual(calls[0]?.input, WEATHER_ARGS);
        assert.equal(typeof calls[1]?.input, 'object');
      }
      assert(json.startsWith(JSON.stringify(WEATHER_ARGS)));
      const tool_choice = { type: 'auto', disable_parallel_tool_use: true } as const;
      assert.equal(callsOf(await client.messages.create({ ...params, tool_choice })).length, 1);
    },

    'tool_choice is obeyed: any, tool, none': async (client) => {
      const called = async (tool_choice: Anthropic.ToolChoice) => {
        const params = question('Go', { model: 'sandbox/tools', tools: [weather, clock], tool_choice });
        return callsOf(await client.messages.create(params)).map(({ name }) => name);
      };
      assert.deepEqual(await called({ type: 'any' }), ['weather']);
      assert.deepEqual(await called({ type: 'tool', name: 'clock' }), ['clock']);
      assert.deepEqual(await called({ type: 'none' }), []);
    },

    'reasoning is a thinking block with a signature, whole and streamed, and may be sent back (checklist 33, 42, 46)':
      async (client) => {
        const params = question('one two', {
          model: 'sandbox/reasoner',
          thinking: { type: 'adaptive', display: 'summarized' },
          output_config: { effort: 'low' },
        });
        const whole = await client.messages.create(params);
        const streamed = await client.messages.stream(params).finalMessage();
        for (const { content, usage } of [whole, streamed]) {
          const [thinking, text] = content;
          assert(thinking?.type === 'thinking' && text?.type === 'text');
          assert.equal(thinking.thinking, 'Step 1: the user wrote "one".\nStep 2: the user wrote "two".');
          assert.equal(typeof thinking.signature, 'string');
          assert.equal(text.text, 'one two');
          assert(usage.output_tokens > 12);
        }
        const messages = [
          ...params.messages,
          { role: 'assistant' as const, content: whole.content },
          { role: 'user' as const, content: 'three' },
        ];
        assert.equal(textOf(await client.messages.create({ ...params, messages })), 'three');
      },

    'a thinking budget is taken, and disabled thinking shows none': async (client) => {
      const budget = {
        model: 'sandbox/reasoner',
        max_tokens: 4000,
        thinking: { type: 'enabled', budget_tokens: 1024 },
      } as const;
      const [first] = (await client.messages.create(question('one', budget))).content;
      assert.equal(first?.type, 'thinking');
      const off = await client.messages.create(
        question('one', { model: 'sandbox/reasoner', thinking: { type: 'disabled' } }),
      );
      assert.deepEqual(
        off.content.map(({ type }) => type),
        ['text'],
      );
    },

    'a JSON Schema is kept to, and the SDK’s parser takes the answer': async (client) => {
      const format = jsonSchemaOutputFormat({ ...PERSON });
      const { parsed_output } = await client.messages.parse(question('Ada', { output_config: { format } }));
      const person = parsed_output as unknown as { name: string; age: number };
      assert.equal(person.name, 'Ada');
      assert.equal(typeof person.age, 'number');
    },

    'images and documents reach the model': async (client) => {
      const answer = await client.messages.create(
        question([
          { type: 'text', text: 'See' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: PDF } },
        ]),
      );
      assert.equal(
        textOf(answer),
        'See\n[image image/png, 8 bytes]\n[image https://example.com/a.png]\n[document a.pdf application/pdf, 15 bytes]',
      );
    },

    'stop sequences end the text (checklist 37)': async (client) => {
      const answer = await client.messages.create(question('one two three four', { stop_sequences: ['x', 'three'] }));
      assert.equal(textOf(answer), 'one two ');
      assert(answer.stop_reason === 'end_turn' ? answer.stop_sequence === null : answer.stop_sequence === 'three');
    },

    'the token limit ends with max_tokens': async (client) => {
      const answer = await client.messages.create(question('one two three four', { max_tokens: 2 }));
      assert.deepEqual([textOf(answer), answer.stop_reason], ['one two', 'max_tokens']);
    },

    'system text, also between messages, cache marks and earlier turns are taken (checklist 61, 62)': async (
      client,
    ) => {
      const answer = await client.messages.create(
        question('x', {
          system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
          messages: [
            { role: 'user', content: 'first' },
            { role: 'assistant', content: 'yes' },
            { role: 'system', content: 'Be briefer.' } as unknown as Anthropic.MessageParam,
            { role: 'user', content: [{ type: 'text', text: 'second', cache_control: { type: 'ephemeral' } }] },
          ],
          metadata: { user_id: 'someone' },
        }),
      );
      assert.equal(textOf(answer), 'second');
    },

    'tokens are counted (checklist 47)': async (client) => {
      const { model, messages } = question(GREETING);
      const { input_tokens } = await client.messages.countTokens({ model, messages, tools: [weather] });
      assert(input_tokens > 4);
    },

    'the model list is paged by the SDK and a model is found by its id (checklist 10, 86, 87)': async (client) => {
      const ids: string[] = [];
      for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
      assert.equal(new Set(ids).size, ids.length);
      for (const id of ['sandbox/echo', 'sandbox/faulty', 'sandbox/reasoner', 'sandbox/tools'])
        assert(ids.includes(id));
      const model = await client.models.retrieve('sandbox/echo');
      assert.deepEqual([model.id, model.type, model.display_name], ['sandbox/echo', 'model', 'Sandbox Echo (no AI)']);
    },
  },
);
