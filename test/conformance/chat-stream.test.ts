/** Conformance: streams of chat completions. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, PATHS, post, question } from '../gateway/harness.ts';
import { checkChatStream } from '../validators/chat.ts';
import { frame, named, type Said, SPEAKERS } from './answers.ts';
import { IDS, MODELS, send, streamed, TOOLS, useRig } from './rig.ts';

const rig = useRig({ yaml: 'server: { keep_alive: 50ms }' });

const ANSWERS: Record<string, Said> = {
  text: { text: 'Hello' },
  reasoning: { reasoning: 'Hmm.', text: 'Hello' },
  'a call': { calls: [{ id: 'call_1', name: 'f', args: { a: 1 } }] },
  'parallel calls': {
    text: 'Well',
    calls: [
      { id: 'call_1', name: 'f', args: { a: 1 } },
      { id: 'call_2', name: 'f', args: { b: [2, { c: '3' }] } },
    ],
  },
  'reasoning before a call': { reasoning: 'Hmm.', signature: 'c2ln', calls: [{ id: 'c', name: 'f', args: { a: 1 } }] },
};

const ASKED = { stream_options: { include_usage: true } };

function ask(model: string, change: Json = {}): Promise<string> {
  return streamed(rig, { protocol: 'chat', model, change: { ...TOOLS.chat, ...change } });
}

const eventStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

for (const upstream of IDS) {
  const model = MODELS[upstream];

  describe(`a chat client before ${upstream}`, () => {
    for (const [name, said] of Object.entries(ANSWERS)) {
      test(`checklist 23, 24, 26, 31: the grammar of ${name}`, async () => {
        rig.say(said);
        const text = await ask(model);
        const { ending, data } = checkChatStream(text, { includeUsage: false });
        assert.equal(ending, 'complete');
        assert.equal(text.split('data: [DONE]\n\n').length, 2);
        assert.ok(text.endsWith('data: [DONE]\n\n'));
        assert.equal(data[0].model, model);
        const content = data.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
        assert.equal(content, said.text ?? '');
        assert.equal(data.at(-1).choices[0].finish_reason, said.calls ? 'tool_calls' : 'stop');
      });

      test(`checklist 25: usage of ${name} in one chunk before the end when it was asked for`, async () => {
        rig.say(said);
        const { data } = checkChatStream(await ask(model, ASKED), { includeUsage: true });
        assert.equal(data.filter(({ choices }) => choices.length === 0).length, 1);
        assert.deepEqual(data.at(-1).usage, { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
      });
    }

    // Streams of messages always have usage.
    if (upstream !== 'messages') {
      test('checklist 25: without usage of the upstream, it is there nevertheless or nothing pretends to be', async () => {
        rig.say({ text: 'Hello', usage: null });
        const { data } = checkChatStream(await ask(model, ASKED));
        assert.ok(data.filter(({ choices }) => choices.length === 0).length <= 1);
      });
    }

    for (const change of [{}, { stream_options: { include_usage: false } }, { stream_options: {} }]) {
      test(`checklist 25: no usage with ${JSON.stringify(change)}`, async () => {
        checkChatStream(await ask(model, change), { includeUsage: false });
      });
    }

    test('checklist 29: deltas of parallel calls', async () => {
      rig.say(ANSWERS['parallel calls'] ?? {});
      const { data } = checkChatStream(await ask(model));
      const deltas: Json[] = data.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
      assert.deepEqual(
        deltas.filter(({ id }) => id).map(({ index, id, type, function: { name } }) => [index, id, type, name]),
        [
          [0, 'call_1', 'function', 'f'],
          [1, 'call_2', 'function', 'f'],
        ],
      );
      for (const [index, args] of [{ a: 1 }, { b: [2, { c: '3' }] }].entries()) {
        const text = deltas.filter((delta) => delta.index === index).map((delta) => delta.function.arguments ?? '');
        assert.deepEqual(JSON.parse(text.join('')), args);
      }
    });

    test('checklist 27, 26: an error after the start is one object without choices, and the end', async () => {
      const error = {
        chat: frame({ error: { message: 'Busy.', type: 'service_unavailable_error', code: 'server_is_overloaded' } }),
        messages: named({ type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } }),
        generate: frame({ error: { code: 503, message: 'Busy.', status: 'UNAVAILABLE' } }),
      }[upstream];
      const stream = SPEAKERS[upstream].stream({ text: 'Hello' });
      const begun = stream.slice(0, stream.indexOf('\n\n', stream.indexOf('Hel')) + 2);
      rig.answer((_call, response) => void eventStream(response).end(begun + error + stream.slice(begun.length)));
      const text = await ask(model, ASKED);
      const { ending, data } = checkChatStream(text);
      assert.equal(ending, 'error');
      assert.equal(data.at(-1).error.code, 'server_is_overloaded');
      assert.ok(text.includes('Hel') && !text.includes('[DONE]'));
    });

    test('checklist 28: a stream cut after any frame never looks like success', async () => {
      const stream = SPEAKERS[upstream].stream({ text: 'Hello', calls: [{ id: 'c', name: 'f', args: { a: 1 } }] });
      const frames = stream.split(/(?<=\n\n)/);
      const enough = { chat: frames.length - 2, messages: frames.length - 1, generate: frames.length }[upstream];
      for (let count = 0; count < enough; count++) {
        rig.answer((_call, response) => void eventStream(response).end(frames.slice(0, count).join('')));
        const { status, text } = await send(rig, { protocol: 'chat', model, stream: true, change: TOOLS.chat });
        if (status !== 200) continue;
        assert.equal(checkChatStream(text).ending, 'error', `after ${count} frames`);
      }
    });

    test('checklist 30: a comment in silence, which is no data', async () => {
      const stream = SPEAKERS[upstream].stream({ text: 'Hello' });
      const middle = stream.indexOf('\n\n', stream.indexOf('Hel')) + 2;
      const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
      rig.answer(async (_call, response) => {
        eventStream(response).write(stream.slice(0, middle));
        await heard;
        response.end(stream.slice(middle));
      });
      const answer = await openStream(model);
      let text = '';
      for await (const chunk of answer) {
        text += Buffer.from(chunk).toString();
        if (/\n\n: [^\n]*\n\n$/.test(text)) hear();
      }
      assert.equal(checkChatStream(text).ending, 'complete');
    });
  });
}

async function openStream(model: string): Promise<AsyncIterable<Uint8Array>> {
  const body = question('chat', model, 'hi', true);
  const response = await post(rig.gateway.url + PATHS.chat(), body, HEADERS.chat);
  return response.body ?? assert.fail('no body');
}
