/** Conformance: whole responses of chat completions. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { answerEvents } from '../gateway/harness.ts';
import { checkChatStream } from '../validators/chat.ts';
import { type Said, SPEAKERS } from './answers.ts';
import { IDS, MODELS, send, speak, streamed, TOOLS, useRig, whole } from './rig.ts';

const rig = useRig({
  providers: `
  openai:
    type: openai
    base_url: "URL/v1"
    api_key: k
    models: [{ id: plain, rules: { token_field: max_tokens } }, { id: thinker, rules: { reasoning: effort } }]`,
});

const CALLS = [
  { id: 'call_1', name: 'f', args: { a: 1 } },
  { id: 'call_2', name: 'f', args: {} },
];

async function ask(model: string, change: Json = {}): Promise<Json> {
  return whole(rig, { protocol: 'chat', model, change });
}

async function choiceOf(model: string, said: Said): Promise<Json> {
  rig.say(said);
  const { choices } = await ask(model, TOOLS.chat);
  assert.equal(choices.length, 1);
  return choices[0];
}

for (const upstream of IDS) {
  const model = MODELS[upstream];

  describe(`a chat client before ${upstream}`, () => {
    test('checklist 15: one choice with text', async () => {
      const { index, message } = await choiceOf(model, { text: 'Hello' });
      assert.deepEqual([index, message.role, message.content], [0, 'assistant', 'Hello']);
    });

    test('checklist 15: content is null when there are only calls', async () => {
      const { message } = await choiceOf(model, { calls: CALLS });
      assert.equal(message.content, null);
      assert.equal(message.tool_calls.length, 2);
    });

    test('checklist 16: the model is the name that was asked for', async () => {
      assert.equal((await ask(model)).model, model);
    });

    test('checklist 17: arguments are the text of a JSON object', async () => {
      const { finish_reason, message } = await choiceOf(model, { text: 'Well', calls: CALLS });
      assert.equal(finish_reason, 'tool_calls');
      const args = message.tool_calls.map((call: Json) => call.function.arguments);
      assert.deepEqual(
        args.map((text: unknown) => JSON.parse(text as string)),
        [{ a: 1 }, {}],
      );
    });

    test('checklist 19: three counts that add up', async () => {
      const { usage } = await ask(model);
      assert.deepEqual(usage, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
    });
  });
}

describe('the end of an answer with calls', () => {
  const words: [model: string, finishes: string[]][] = [
    ['b/m', ['tool_use', 'end_turn', 'stop_sequence']],
    ['c/m', ['STOP', 'FINISH_REASON_UNSPECIFIED']],
  ];
  for (const [model, finishes] of words) {
    for (const finish of finishes) {
      test(`checklist 18: ${model} says ${finish}`, async () => {
        assert.equal((await choiceOf(model, { calls: CALLS, finish })).finish_reason, 'tool_calls');
      });
    }
  }

  const broken = (finish: string): string => {
    const text = SPEAKERS.messages.stream({ calls: [{ id: 'toolu_1', name: 'f', args: { a: 1 } }], finish });
    return text.replace(/event: content_block_delta\ndata: \{[^\n]*:1\}[^\n]*\n\n/, '');
  };
  test('checklist 17: a call that the output limit cut ends with length, not as a call', async () => {
    rig.answer((_call, response) => answerEvents(response, broken('max_tokens')));
    const { data } = checkChatStream(await streamed(rig, { protocol: 'chat', model: 'b/m', change: TOOLS.chat }));
    assert.equal(data.at(-1).choices[0].finish_reason, 'length');
  });
  for (const finish of ['tool_use', 'end_turn', 'stop_sequence', 'brand_new']) {
    test(`checklist 17: half a call that ends with ${finish} is a failure`, async () => {
      rig.answer((_call, response) => answerEvents(response, broken(finish)));
      const text = await streamed(rig, { protocol: 'chat', model: 'b/m', change: TOOLS.chat });
      assert.equal(checkChatStream(text).ending, 'error');
    });
  }
});

describe('token counts', () => {
  const details: [model: string, usage: Json, expected: Json][] = [
    [
      'b/m',
      { input_tokens: 10, cache_read_input_tokens: 4, cache_creation_input_tokens: 2, output_tokens: 5 },
      { prompt: 16, completion: 5, cached: 4, written: 2 },
    ],
    [
      'c/m',
      {
        ...{ promptTokenCount: 10, cachedContentTokenCount: 4, candidatesTokenCount: 5 },
        ...{ thoughtsTokenCount: 3, totalTokenCount: 18 },
      },
      { prompt: 10, completion: 8, cached: 4, reasoning: 3 },
    ],
  ];
  for (const [model, usage, expected] of details) {
    test(`checklist 19: details that ${model} knows`, async () => {
      rig.say({ text: 'Hello', usage });
      const { usage: seen } = await ask(model);
      assert.equal(seen.prompt_tokens, expected.prompt);
      assert.equal(seen.completion_tokens, expected.completion);
      assert.equal(seen.total_tokens, expected.prompt + expected.completion);
      assert.equal(seen.prompt_tokens_details.cached_tokens, expected.cached);
      assert.equal(seen.prompt_tokens_details.cache_write_tokens, expected.written);
      assert.equal(seen.completion_tokens_details?.reasoning_tokens, expected.reasoning);
    });
  }
});

test('checklist 20: a blocked Gemini prompt is filtered, not failed', async () => {
  rig.answer((_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
        modelVersion: 'm',
      }),
    );
  });
  const { choices, usage } = await ask('c/m');
  assert.deepEqual([choices.length, choices[0].finish_reason, choices[0].message.content], [1, 'content_filter', null]);
  assert.deepEqual([usage.prompt_tokens, usage.completion_tokens, usage.total_tokens], [4, 0, 4]);
});

describe('the output limit', () => {
  const cases: [model: string, limit: string, expected: Json][] = [
    ['openai/thinker', 'max_tokens', { max_completion_tokens: 50 }],
    ['openai/thinker', 'max_completion_tokens', { max_completion_tokens: 50 }],
    ['a/m', 'max_tokens', { max_tokens: 50 }],
    ['b/m', 'max_tokens', { max_tokens: 50 }],
    ['b/m', 'max_completion_tokens', { max_tokens: 50 }],
    ['c/m', 'max_tokens', { maxOutputTokens: 50 }],
  ];
  for (const [model, limit, expected] of cases) {
    test(`checklist 21: ${limit} for ${model}`, async () => {
      await ask(model, { [limit]: 50 });
      const { body } = rig.sent();
      const { max_tokens, max_completion_tokens } = body;
      const seen = body.generationConfig ?? { max_tokens, max_completion_tokens };
      assert.deepEqual(JSON.parse(JSON.stringify(seen)), expected);
    });
  }
});

describe('stop sequences', () => {
  const field: Record<string, (body: Json) => Json> = {
    'a/m': (body) => body.stop,
    'b/m': (body) => body.stop_sequences,
    'c/m': (body) => body.generationConfig.stopSequences,
  };
  for (const [model, read] of Object.entries(field)) {
    for (const stop of ['END', ['END', 'STOP']]) {
      test(`checklist 22: ${JSON.stringify(stop)} for ${model}`, async () => {
        rig.answer(speak({ text: 'Hello' }));
        await ask(model, { stop });
        assert.deepEqual([read(rig.sent().body)].flat(), [stop].flat());
      });
    }

    const five = ['1', '2', '3', '4', '5'];
    if (model === 'a/m') {
      test('checklist 22: of five an upstream of the same protocol decides', async () => {
        rig.answer(speak({ text: 'Hello' }));
        await ask(model, { stop: five });
        assert.deepEqual(read(rig.sent().body), five);
      });
      continue;
    }

    test(`checklist 22: five are too many for ${model}`, async () => {
      const { status, text } = await send(rig, { protocol: 'chat', model, change: { stop: five } });
      assert.equal(status, 400);
      assert.equal(JSON.parse(text).error.param, 'stop');
      assert.equal(rig.upstream.calls.length, 0);
    });
  }
});
