/** The official chat completions SDK calling tools of the sandbox. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type OpenAI from 'openai';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { judge, WEATHER, WEATHER_ARGS } from './judge.ts';
import { openaiClients } from './openai.ts';

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

type Call = OpenAI.ChatCompletionMessageToolCall;

const user = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }];
const weather: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'weather', description: 'The weather in a city', parameters: { ...WEATHER }, strict: true },
};
const clock: OpenAI.ChatCompletionFunctionTool = { type: 'function', function: { name: 'clock' } };

function nameOf(call: Call): string {
  return call.type === 'function' ? call.function.name : call.custom.name;
}

function argumentsOf(call: Call | undefined): unknown {
  return JSON.parse(call?.type === 'function' ? call.function.arguments : '');
}

function runnable({ function: { name, description = '' } }: OpenAI.ChatCompletionFunctionTool, run: () => string) {
  const parameters = { type: 'object' as const, properties: {} };
  return { type: 'function' as const, function: { name, description, parameters, function: run } };
}

judge(
  openaiClients(() => gateway),
  {
    'a tool loop: call, result, answer (checklist 15, 17, 18)': async (client) => {
      const params = { model: 'sandbox/tools', tools: [weather, clock] };
      const messages = user('How is the weather?');
      const first = (await client.chat.completions.create({ ...params, messages })).choices[0];
      assert.equal(first?.finish_reason, 'tool_calls');
      assert.equal(first.message.content, null);
      const [call] = first.message.tool_calls ?? [];
      assert.deepEqual(argumentsOf(call), WEATHER_ARGS);
      messages.push(first.message, { role: 'tool', tool_call_id: call?.id ?? '', content: 'sunny' });
      const last = (await client.chat.completions.create({ ...params, messages })).choices[0];
      assert.equal(last?.message.content, 'weather answered: sunny');
      assert.equal(last.finish_reason, 'stop');
    },

    'the SDK runs the tools itself, whole and streamed (checklist 31)': async (client) => {
      const params = {
        model: 'sandbox/tools',
        messages: user('Weather, in parallel with the time'),
        tools: [runnable(weather, () => 'rain'), runnable(clock, () => 'noon')],
      };
      const whole = client.chat.completions.runTools(params);
      const streamed = client.chat.completions.runTools({ ...params, stream: true });
      for (const runner of [whole, streamed])
        assert.equal(await runner.finalContent(), 'weather answered: rain\nclock answered: noon');
    },

    'parallel calls arrive whole and streamed, their arguments in pieces (checklist 29)': async (client) => {
      const params = { model: 'sandbox/tools', messages: user('All in parallel'), tools: [weather, clock] };
      const names = ['weather', 'clock'];
      const whole = (await client.chat.completions.create(params)).choices[0]?.message.tool_calls ?? [];
      assert.deepEqual(whole.map(nameOf), names);
      const stream = client.chat.completions.stream(params);
      let deltas = 0;
      stream.on('tool_calls.function.arguments.delta', () => void deltas++);
      const calls = (await stream.finalChatCompletion()).choices[0]?.message.tool_calls ?? [];
      assert.deepEqual(calls.map(nameOf), names);
      assert.deepEqual(argumentsOf(calls[0]), WEATHER_ARGS);
      assert(deltas > 2);
      const single = await client.chat.completions.create({ ...params, parallel_tool_calls: false });
      assert.equal(single.choices[0]?.message.tool_calls?.length, 1);
    },

    'tool_choice is obeyed: required, named, none': async (client) => {
      const params = { model: 'sandbox/tools', messages: user('Go'), tools: [weather, clock] };
      const called = async (tool_choice: OpenAI.ChatCompletionToolChoiceOption) =>
        (await client.chat.completions.create({ ...params, tool_choice })).choices[0]?.message.tool_calls?.map(nameOf);
      assert.deepEqual(await called('required'), ['weather']);
      assert.deepEqual(await called({ type: 'function', function: { name: 'clock' } }), ['clock']);
      assert.equal(await called('none'), undefined);
    },

    'a free-text tool is called with its input, whole and streamed': async (client) => {
      const note: OpenAI.ChatCompletionCustomTool = { type: 'custom', custom: { name: 'note' } };
      const params = { model: 'sandbox/tools', messages: user('Write it down'), tools: [note] };
      const [call] = (await client.chat.completions.create(params)).choices[0]?.message.tool_calls ?? [];
      assert.deepEqual(call?.type === 'custom' && call.custom, { name: 'note', input: 'sandbox' });
      let input = '';
      for await (const chunk of await client.chat.completions.create({ ...params, stream: true })) {
        const [delta] = (chunk.choices[0]?.delta.tool_calls ?? []) as { custom?: { input?: string } }[];
        input += delta?.custom?.input ?? '';
      }
      assert.equal(input, 'sandbox');
    },
  },
);
