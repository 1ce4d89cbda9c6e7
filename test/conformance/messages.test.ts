/** Conformance: whole responses of the messages protocol. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { assertStop, checkMessagesStream } from '../validators/messages.ts';
import type { Said } from './answers.ts';
import { MODELS, streamed, TOOLS, useRig, whole } from './rig.ts';

const rig = useRig();

const DOCUMENTED = /^(text|thinking|redacted_thinking|tool_use|server_tool_use|container_upload|\w+_tool_result)$/;

const ANSWERS: Record<string, Said> = {
  text: { text: 'Hello' },
  thoughts: { reasoning: 'Hmm.', text: 'Hello' },
  calls: {
    text: 'Well',
    calls: [
      { id: 'call_1', name: 'f', args: { a: 1 } },
      { id: 'call_2', name: 'f', args: {} },
    ],
  },
  'thoughts before a call': { reasoning: 'Hmm.', signature: 'c2ln', calls: [{ id: 'c', name: 'f', args: {} }] },
};

async function ask(model: string, said: Said): Promise<Json> {
  rig.say(said);
  return whole(rig, { protocol: 'messages', model, change: TOOLS.messages });
}

for (const upstream of ['chat', 'generate'] as const) {
  const model = MODELS[upstream];

  describe(`a messages client before ${upstream}`, () => {
    for (const [name, said] of Object.entries(ANSWERS)) {
      test(`checklist 32, 34, 37: the shape of ${name}`, async () => {
        const body = await ask(model, said);
        assert.match(body.id, /^msg_/);
        assert.deepEqual([body.type, body.role, body.model], ['message', 'assistant', model]);
        for (const { type } of body.content) assert.match(type, DOCUMENTED);
        assertStop(body, body.content.filter(({ type }: Json) => type === 'tool_use').length);
        assert.equal(body.stop_reason, said.calls ? 'tool_use' : 'end_turn');
        assert.deepEqual([body.usage.input_tokens, body.usage.output_tokens], [10, 5]);
      });
    }

    test('checklist 33: every thinking block has a signature, empty where there is none', async () => {
      for (const said of [ANSWERS.thoughts, ANSWERS['thoughts before a call']]) {
        const { content } = await ask(model, said ?? {});
        const thoughts = content.filter(({ type }: Json) => type === 'thinking');
        assert.equal(thoughts[0].thinking, 'Hmm.');
        for (const block of thoughts) assert.equal(typeof block.signature, 'string');
      }
    });

    for (const args of upstream === 'chat' ? ['', '{}', '{"a":1}'] : [undefined, {}, { a: 1 }]) {
      test(`checklist 36: input is an object for the arguments ${JSON.stringify(args)}`, async () => {
        const { content } = await ask(model, { calls: [{ id: 'c', name: 'f', args }] });
        const [call] = content.filter(({ type }: Json) => type === 'tool_use');
        assert.deepEqual(call.input, JSON.stringify(args)?.includes('1') ? { a: 1 } : {});
      });
    }
  });
}

describe('cached input', () => {
  const chat = {
    ...{ prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
    prompt_tokens_details: { cached_tokens: 12, cache_write_tokens: 3 },
  };
  const generate = { promptTokenCount: 20, cachedContentTokenCount: 12, candidatesTokenCount: 5, totalTokenCount: 25 };
  for (const [model, usage, input, written] of [
    ['a/m', chat, 5, 3],
    ['c/m', generate, 8, 0],
  ] as const) {
    test(`checklist 35: stands beside input_tokens, from ${model}`, async () => {
      const { usage: seen } = await ask(model, { text: 'Hello', usage });
      assert.equal(seen.input_tokens, input);
      assert.equal(seen.cache_read_input_tokens, 12);
      assert.equal(seen.cache_creation_input_tokens, written);
    });
  }
});

describe('calls of one answer with the same id', () => {
  const calls = [
    { id: 'same', name: 'f', args: { a: 1 } },
    { id: 'same', name: 'f', args: { a: 2 } },
  ];
  const chatCalls = (message: Json): Json[] =>
    message.tool_calls.map((call: Json) => [call.id, JSON.parse(call.function.arguments)]);
  const uses = (content: Json[]): Json[] => content.map(({ id, input }) => [id, input]);
  const own = [
    ['same', { a: 1 }],
    ['same_2', { a: 2 }],
  ];

  test('get ids of their own, whole', async () => {
    for (const model of ['a/m', 'c/m']) assert.deepEqual(uses((await ask(model, { calls })).content), own, model);
    rig.say({ calls });
    const body = await whole(rig, { protocol: 'chat', model: 'b/m', change: TOOLS.chat });
    assert.deepEqual(chatCalls(body.choices[0].message), own);
  });

  test('get ids of their own, streamed', async () => {
    rig.say({ calls });
    for (const model of ['a/m', 'c/m']) {
      const { data } = checkMessagesStream(
        await streamed(rig, { protocol: 'messages', model, change: TOOLS.messages }),
      );
      const ids = data.flatMap(({ content_block: block }) => (block?.type === 'tool_use' ? [block.id] : []));
      assert.deepEqual(ids, ['same', 'same_2'], model);
    }
  });
});

describe('stop sequences', () => {
  test('checklist 37: the sequence is named where the upstream names it', async () => {
    rig.answer((_call, response) => {
      const choice = { index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: 'x', model: 'm', choices: [{ ...choice, stop_reason: 'END' }], usage }));
    });
    const body = await whole(rig, { protocol: 'messages', model: 'a/m', change: { stop_sequences: ['END'] } });
    assert.deepEqual([body.stop_reason, body.stop_sequence], ['stop_sequence', 'END']);
  });

  for (const model of ['a/m', 'c/m']) {
    test(`checklist 37: an end that ${model} does not explain is natural`, async () => {
      rig.say({ text: 'a' });
      const body = await whole(rig, { protocol: 'messages', model, change: { stop_sequences: ['END'] } });
      assert.deepEqual([body.stop_reason, body.stop_sequence], ['end_turn', null]);
    });
  }
});
