/** LangChain against the sandbox, through its class of each protocol. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { GREETING, judge, ODD, PERSON, PNG, rejection, WEATHER, WEATHER_ARGS } from './judge.ts';
import { answerOf, type LangChain, langChains, type Options } from './langchain.ts';

const run = promisify(execFile);

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

const WAYS = [false, true];
const tools = [
  tool(async () => 'sunny', { name: 'weather', description: 'The weather in a city', schema: { ...WEATHER } }),
  tool(async () => 'noon', { name: 'clock', description: 'The time', schema: { type: 'object', properties: {} } }),
];
function ask(client: LangChain, model: string, text: string, options?: Options, stream = false) {
  return answerOf(client.model(`sandbox/${model}`, options), text, stream);
}

/** The HTTP status that an error of any of the classes has. */
async function statusOf(call: Promise<unknown>): Promise<unknown> {
  return ((await rejection(call, Error)) as Error & { status?: number }).status;
}

judge(
  langChains(() => gateway),
  {
    'text and usage, whole and streamed (checklist 16, 19, 46, 58)': async (client) => {
      for (const stream of WAYS) {
        assert.equal((await ask(client, 'echo', ODD, {}, stream)).text, ODD);
        const { usage_metadata: usage } = await ask(client, 'echo', GREETING, {}, stream);
        assert.equal(usage?.output_tokens, 4);
        assert.equal(usage.input_tokens, stream && !client.countsStreamedInput ? 0 : 4);
      }
    },

    'parallel calls and their results, whole and streamed (checklist 17, 29, 58)': async (client) => {
      const model = client.model('sandbox/tools').bindTools(tools);
      for (const stream of WAYS) {
        const question = new HumanMessage('All in parallel');
        const turn = await answerOf(model, [question], stream);
        const calls = turn.tool_calls ?? [];
        assert.deepEqual(
          calls.map(({ name, args }) => [name, args]),
          [
            ['weather', WEATHER_ARGS],
            ['clock', {}],
          ],
        );
        const results = await Promise.all(
          calls.map((call) => tools.find(({ name }) => name === call.name)?.invoke(call)),
        );
        const { text } = await answerOf(model, [question, turn, ...results], stream);
        assert.match(text, /^weather answered: .*sunny.*\nclock answered: .*noon/);
      }
    },

    'tool choice is obeyed': async (client) => {
      const called = async (tool_choice: string) => {
        const model = client.model('sandbox/tools').bindTools(tools, { tool_choice });
        return (await answerOf(model, 'Go', false)).tool_calls?.map(({ name }) => name);
      };
      assert.deepEqual(await called('clock'), ['clock']);
      assert.deepEqual(await called('any'), ['weather']);
    },

    'structured output by schema and by a forced tool': async (client) => {
      for (const [method, model] of [
        ['jsonSchema', 'echo'],
        ['functionCalling', 'tools'],
      ]) {
        const structured = client
          .model(`sandbox/${model}`)
          .withStructuredOutput({ ...PERSON }, { name: 'person', method });
        assert.deepEqual(Object.keys(await structured.invoke('Ada')), ['name', 'age'], method);
      }
    },

    'an image reaches the model (checklist 68)': async (client) => {
      const content = [
        { type: 'text', text: 'See' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      ];
      const asked = answerOf(client.model('sandbox/echo'), [new HumanMessage({ content })], false);
      if (client.takesImages) assert.equal((await asked).text, 'See\n[image image/png, 8 bytes]');
      else assert.match((await rejection(asked, Error)).message, /does not support images/);
    },

    'reasoning is shown, whole and streamed': async (client) => {
      for (const stream of WAYS) {
        const { content, contentBlocks, additional_kwargs, text } = await ask(
          client,
          'reasoner',
          'one two',
          { thinks: true },
          stream,
        );
        const thoughts = (Array.isArray(content) ? content : []).map(({ thinking }) => thinking ?? '').join('');
        const shown = client.showsReasoning ? thoughts : additional_kwargs.reasoning_content;
        assert.equal(
          shown,
          'Step 1: the user wrote "one".\nStep 2: the user wrote "two".',
          JSON.stringify(contentBlocks),
        );
        assert.equal(text, 'one two');
      }
    },

    'errors have their status (checklist 4, 13, 80, 82)': async (client) => {
      for (const stream of WAYS) {
        assert.equal(await statusOf(ask(client, 'echo', 'hi', { key: 'sk-wrong' }, stream)), 401);
        assert.equal(await statusOf(ask(client, 'none', 'hi', {}, stream)), 404);
        assert.equal(await statusOf(ask(client, 'echo', 'hi', { maxTokens: 0.5 }, stream)), 400);
        assert.equal(await statusOf(ask(client, 'faulty', 'status 429', {}, stream)), 429);
        for (const words of ['status 500', 'garbage', 'error in 200'])
          assert.match(String(await statusOf(ask(client, 'faulty', words, {}, stream))), /^50[023]$/);
      }
    },

    'an answer can be given up': async (client, context) => {
      if (!client.abortsAnswers) return context.skip('this class listens to a signal in streams only');
      const hanging = answerOf(client.model('sandbox/faulty'), 'hang', false, AbortSignal.timeout(100));
      await rejection(hanging, Error);
    },
  },
);

test('a stream that breaks or is given up is an error and no success (checklist 27, 28, 44, 53)', async () => {
  const broken = ['cut after 3', 'end after 3', 'error in stream after 2', 'hang after 3'];
  const program = fileURLToPath(new URL('langchain-streams.ts', import.meta.url));
  const { stdout } = await run(process.execPath, ['--unhandled-rejections=none', program, ...broken], {
    env: { PATH: process.env.PATH, GATEWAY_URL: gateway.url, POLYGATE_KEY: gateway.key },
  });
  const outcomes = Object.entries<{ text: string; error?: string }>(JSON.parse(stdout));
  assert.equal(outcomes.length, broken.length * 3);
  for (const [name, { text, error }] of outcomes) {
    assert.match(text, /^Nothing/, name);
    assert(error, `${name} succeeded with ${text}`);
  }
});
