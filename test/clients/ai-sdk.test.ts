/** The AI SDK against the sandbox, through every provider package. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import { type AiSdk, aiSdks, THINKING } from './ai-sdk.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { collect, GREETING, judge, ODD, PERSON, PNG, rejection, WEATHER, WEATHER_ARGS } from './judge.ts';

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
});
after(() => gateway.close());

const tools = {
  weather: tool({
    description: 'The weather in a city',
    inputSchema: jsonSchema<{ city: string; days: number }>({ ...WEATHER, required: [...WEATHER.required] }),
    execute: async () => 'sunny',
  }),
  clock: tool({ inputSchema: jsonSchema({ type: 'object', properties: {} }), execute: async () => 'noon' }),
};
const person = Output.object({
  schema: jsonSchema<{ name: string; age: number }>({ ...PERSON, required: [...PERSON.required] }),
});

/** Without retries: a failure is to be seen as it came. */
function question(sdk: AiSdk, model: string, prompt: string) {
  return { model: sdk.model(`sandbox/${model}`), prompt, maxRetries: 0, maxOutputTokens: 4000 };
}

/** What a stream says and how it ends; the SDK reports errors as parts of it. */
async function streamed(sdk: AiSdk, prompt: string, abortSignal?: AbortSignal) {
  const result = streamText({ ...question(sdk, 'faulty', prompt), abortSignal, onError() {} });
  const parts = { text: '', errors: [] as unknown[], aborted: false, reason: '' };
  for await (const part of result.stream) {
    if (part.type === 'text-delta') parts.text += part.text;
    else if (part.type === 'error') parts.errors.push(part.error);
    else if (part.type === 'abort') parts.aborted = true;
    else if (part.type === 'finish') parts.reason = part.finishReason;
  }
  return parts;
}

/** Packages that bring a copy of the SDK's errors with them have a class of their own. */
async function failure(call: PromiseLike<unknown>): Promise<APICallError> {
  const error = await rejection(call, Error);
  assert(APICallError.isInstance(error), error.stack);
  return error;
}

judge(
  aiSdks(() => gateway),
  {
    'text, its end, its usage and the request’s id (checklist 11, 14, 16, 19, 58)': async (sdk) => {
      const { text, finishReason, usage, response } = await generateText(question(sdk, 'echo', ODD));
      assert.deepEqual([text, finishReason, response.modelId], [ODD, 'stop', 'sandbox/echo']);
      assert.match(response.headers?.['x-polygate-request-id'] ?? '', /^req_/);
      assert.equal(usage.inputTokens, usage.outputTokens);
    },

    'a stream says the same (checklist 46, 58)': async (sdk) => {
      const result = streamText(question(sdk, 'echo', GREETING));
      assert.equal(await collect(result.textStream, (text) => text), GREETING);
      assert.equal(await result.finishReason, 'stop');
      const { inputTokens, outputTokens } = await result.usage;
      assert.deepEqual([inputTokens, outputTokens], [4, 4]);
    },

    'the SDK’s own loop runs a tool, whole and streamed (checklist 17, 18, 46, 58)': async (sdk) => {
      const params = { ...question(sdk, 'tools', 'Weather?'), tools, stopWhen: isStepCount(3) };
      const whole = await generateText(params);
      const running = streamText(params);
      await running.consumeStream();
      for (const steps of [whole.steps, await running.steps]) {
        assert.deepEqual(
          steps.map(({ finishReason }) => finishReason),
          ['tool-calls', 'stop'],
        );
        assert.deepEqual(steps[0]?.toolCalls[0]?.input, WEATHER_ARGS);
        assert.match(steps[1]?.text ?? '', /^weather answered: .*sunny/);
      }
    },

    'parallel calls, whole and streamed (checklist 29)': async (sdk) => {
      const params = { ...question(sdk, 'tools', 'All in parallel'), tools };
      for (const calls of [(await generateText(params)).toolCalls, await streamText(params).toolCalls])
        assert.deepEqual(
          calls.map(({ toolName, input }) => [toolName, input]),
          [
            ['weather', WEATHER_ARGS],
            ['clock', {}],
          ],
        );
    },

    'tool choice is obeyed': async (sdk) => {
      const params = { ...question(sdk, 'tools', 'Go'), tools };
      const named = await generateText({ ...params, toolChoice: { type: 'tool', toolName: 'clock' } });
      assert.deepEqual(
        named.toolCalls.map(({ toolName }) => toolName),
        ['clock'],
      );
      assert.deepEqual((await generateText({ ...params, toolChoice: 'none' })).toolCalls, []);
    },

    'structured output, whole and streamed': async (sdk) => {
      const providerOptions = { anthropic: { structuredOutputMode: 'outputFormat' } };
      const params = { ...question(sdk, 'echo', 'Ada'), output: person, providerOptions };
      const { output } = await generateText(params);
      assert.equal(output.name, 'Ada');
      assert.equal(typeof output.age, 'number');
      assert.deepEqual(await streamText(params).output, output);
    },

    'structured output by a forced tool, as for a model that the SDK doesn’t know': async (sdk) => {
      const providerOptions = { anthropic: { structuredOutputMode: 'jsonTool' } };
      const { output } = await generateText({ ...question(sdk, 'tools', 'Ada'), output: person, providerOptions });
      assert.deepEqual(Object.keys(output), ['name', 'age']);
    },

    'an image reaches the model (checklist 68)': async (sdk) => {
      const { prompt: _, ...params } = question(sdk, 'echo', '');
      const content = [
        { type: 'text' as const, text: 'See' },
        { type: 'file' as const, data: Buffer.from(PNG, 'base64'), mediaType: 'image/png' },
      ];
      const { text } = await generateText({ ...params, messages: [{ role: 'user', content }] });
      assert.equal(text, 'See\n[image image/png, 8 bytes]');
    },

    'reasoning is shown and counted, whole and streamed': async (sdk) => {
      const params = { ...question(sdk, 'reasoner', 'one two'), providerOptions: THINKING };
      const steps = sdk.readsReasoning ? 'Step 1: the user wrote "one".\nStep 2: the user wrote "two".' : undefined;
      const whole = await generateText(params);
      const running = streamText(params);
      assert.deepEqual([whole.text, whole.reasoningText], ['one two', steps]);
      assert.deepEqual([await running.text, await running.reasoningText], ['one two', steps]);
      assert.equal(whole.usage.outputTokenDetails.reasoningTokens, 18);
      assert.equal((await running.usage).outputTokenDetails.reasoningTokens, 18);
    },

    'errors have their status and words, and say whether to try again (checklist 4, 13, 80)': async (sdk) => {
      const failures: [AiSdk, string, string, number[], boolean][] = [
        [sdk.withKey('sk-wrong'), 'echo', 'hi', [401], false],
        [sdk, 'none', 'hi', [404], false],
        [sdk, 'faulty', 'status 429', [429], true],
        [sdk, 'faulty', 'status 500', [500, 502, 503], true],
        [sdk, 'faulty', 'garbage', [500, 502, 503], true],
        [sdk, 'faulty', 'cut after 3', [500, 502, 503], true],
      ];
      for (const [client, model, prompt, statuses, isRetryable] of failures) {
        const error = await failure(generateText(question(client, model, prompt)));
        assert(statuses.includes(error.statusCode ?? 0), `${prompt}: ${error.statusCode}`);
        assert.equal(error.isRetryable, isRetryable, prompt);
      }
      const error = await failure(generateText({ ...question(sdk, 'echo', 'hi'), topP: 3 }));
      assert.equal(error.statusCode, 400);
      assert.match(error.message, /top_?p must be a number between 0 and 1/i);
    },

    'a failure before the first event of a stream has its status (checklist 82)': async (sdk) => {
      for (const [words, status] of Object.entries({ 'status 429': 429, garbage: 0, 'error in 200': 0 })) {
        const { errors } = await streamed(sdk, words);
        assert(APICallError.isInstance(errors[0]), words);
        if (status) assert.equal(errors[0].statusCode, status);
      }
    },

    'a stream that breaks is an error and no success (checklist 27, 28, 44, 53)': async (sdk) => {
      for (const words of ['cut after 3', 'end after 3', 'error in stream after 2']) {
        const { text, errors, reason } = await streamed(sdk, words);
        assert.match(text, /^Nothing/);
        assert.equal(errors.length, 1, words);
        assert.match((errors[0] as Error).message, /as asked|before the end/);
        assert.equal(reason, 'error', words);
      }
    },

    'a call can be given up at any time': async (sdk) => {
      assert((await streamed(sdk, 'hang after 3', AbortSignal.timeout(200))).aborted);
      const abortSignal = AbortSignal.timeout(100);
      await rejection(generateText({ ...question(sdk, 'faulty', 'hang'), abortSignal }), DOMException);
    },
  },
);
