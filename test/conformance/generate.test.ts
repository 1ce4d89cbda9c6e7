/** Conformance: generateContent, whole and streamed. */

import assert from 'node:assert/strict';
import { request as openRequest } from 'node:http';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, PATHS, question } from '../gateway/harness.ts';
import { assertBase64, assertChunk, assertCounts, checkGenerateStream } from '../validators/generate.ts';
import { frame, named, type Said, SPEAKERS } from './answers.ts';
import { IDS, MODELS, send, streamed, TOOLS, useRig, whole } from './rig.ts';

const rig = useRig();

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
};

const ARRAY = { protocol: 'generate', stream: true } as const;

function arrayPath(model: string): string {
  return PATHS.generate(model, true).replace('?alt=sse', '');
}

for (const upstream of ['chat', 'messages'] as const) {
  const model = MODELS[upstream];

  describe(`a generate client before ${upstream}`, () => {
    for (const [name, said] of Object.entries(ANSWERS)) {
      test(`checklist 48, 50: the stream of ${name} as events`, async () => {
        rig.say(said);
        const text = await streamed(rig, { protocol: 'generate', model, change: TOOLS.generate });
        assert.ok(!text.includes('event:') && !text.includes('[DONE]'));
        assert.equal(checkGenerateStream(text, { usage: true }).ending, 'complete');
      });

      test(`checklist 49, 50: the stream of ${name} as an array`, async () => {
        rig.say(said);
        const got = await send(rig, { ...ARRAY, model, change: TOOLS.generate, path: arrayPath(model) });
        assert.match(got.headers.get('content-type') ?? '', /^application\/json/);
        assert.equal(checkGenerateStream(got.text, { array: true, usage: true }).ending, 'complete');
      });

      test(`checklist 50, 56: ${name} in one piece`, async () => {
        rig.say(said);
        const body = await whole(rig, { protocol: 'generate', model, change: TOOLS.generate });
        assertChunk(body, true);
        assertCounts(body.usageMetadata);
        assert.equal(body.candidates[0].finishReason, 'STOP');
      });
    }

    test('checklist 51: calls have an id and an object of arguments, and end with STOP', async () => {
      rig.say(ANSWERS.calls ?? {});
      const { candidates } = await whole(rig, { protocol: 'generate', model, change: TOOLS.generate });
      const calls = candidates[0].content.parts.flatMap(({ functionCall }: Json) => functionCall ?? []);
      assert.deepEqual(calls, [
        { id: 'call_1', name: 'f', args: { a: 1 } },
        { id: 'call_2', name: 'f', args: {} },
      ]);
      assert.equal(candidates[0].finishReason, 'STOP');
    });

    test('checklist 49: every element is sent when it is known', async () => {
      const stream = SPEAKERS[upstream].stream({ text: 'Hello' });
      const { promise: first, resolve: gotFirst } = Promise.withResolvers<void>();
      const middle = stream.indexOf('\n\n', stream.indexOf('Hel')) + 2;
      rig.answer(async (_call, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(stream.slice(0, middle));
        await first;
        response.end(stream.slice(middle));
      });
      const { text, early } = await readSlowly(model, gotFirst);
      assert.ok(early.startsWith('[{') && early.includes('Hel'), early);
      assert.equal(checkGenerateStream(text, { array: true }).ending, 'complete');
    });

    test('checklist 53: an error inside a stream has a numeric code and a status, as events and in an array', async () => {
      const stream = SPEAKERS[upstream].stream({ text: 'Hello' });
      const error =
        upstream === 'chat'
          ? frame({ error: { message: 'Busy.', type: 'service_unavailable_error', code: 'server_is_overloaded' } })
          : named({ type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } });
      rig.answer((_call, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(stream.slice(0, stream.indexOf('\n\n', stream.indexOf('Hel')) + 2) + error);
      });
      for (const array of [false, true]) {
        const path = array ? arrayPath(model) : PATHS.generate(model, true);
        const { ending, data } = checkGenerateStream((await send(rig, { ...ARRAY, model, path })).text, { array });
        assert.equal(ending, 'error');
        assert.deepEqual([data.at(-1).error.code, data.at(-1).error.status], [503, 'UNAVAILABLE']);
      }
    });

    test('checklist 55: a signature is base64', async () => {
      rig.say({ reasoning: 'Hmm.', signature: 'not+base64=in_itself', calls: [{ id: 'c', name: 'f', args: {} }] });
      const body = await whole(rig, { protocol: 'generate', model, change: TOOLS.generate });
      const text = await streamed(rig, { protocol: 'generate', model, change: TOOLS.generate });
      checkGenerateStream(text);
      const signatures = body.candidates[0].content.parts.flatMap((part: Json) => part.thoughtSignature ?? []);
      assert.equal(signatures.length > 0, upstream === 'messages');
      for (const signature of signatures) assertBase64(signature);
    });

    test('checklist 57: tokens are counted', async () => {
      const path = PATHS.generate(model, false).replace('generateContent', 'countTokens');
      rig.answer((_call, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":7}');
      });
      const { totalTokens } = await whole(rig, { protocol: 'generate', model, path });
      if (upstream === 'messages') assert.equal(totalTokens, 7);
      else assert.ok(Number.isSafeInteger(totalTokens) && totalTokens > 0);
    });
  });
}

/** Reads an answer as an array; `early` is what was there before the upstream went on. */
async function readSlowly(model: string, goOn: () => void): Promise<{ text: string; early: string }> {
  const { hostname, port } = new URL(rig.gateway.url);
  const headers = { 'content-type': 'application/json', ...HEADERS.generate };
  const options = { hostname, port, method: 'POST', path: arrayPath(model), headers };
  return new Promise((resolve, reject) => {
    const request = openRequest(options, async (response) => {
      let text = '';
      let early = '';
      for await (const chunk of response) {
        text += chunk;
        if (early !== '' || !text.includes('Hel')) continue;
        early = text;
        goOn();
      }
      resolve({ text, early });
    });
    request.on('error', reject).end(JSON.stringify(question('generate', model, 'hi')));
  });
}

describe('blocked prompts', () => {
  for (const upstream of ['chat', 'messages'] as const) {
    test(`checklist 52: an answer that ${upstream} refuses has a filtered candidate`, async () => {
      const finish = upstream === 'chat' ? 'content_filter' : 'refusal';
      rig.say({ text: 'No', finish });
      const body = await whole(rig, { protocol: 'generate', model: MODELS[upstream] });
      assert.equal(body.candidates[0].finishReason, 'SAFETY');
    });
  }

  for (const stream of [false, true]) {
    test(`checklist 52: a prompt that Gemini blocks has no candidates, ${stream ? 'streamed' : 'whole'}`, async () => {
      const blocked = { promptFeedback: { blockReason: 'SAFETY' }, modelVersion: 'm', responseId: 'r' };
      rig.answer((_call, response) => {
        response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
        response.end(stream ? frame(blocked) : JSON.stringify(blocked));
      });
      const { status, text } = await send(rig, { protocol: 'generate', model: 'c/m', stream });
      assert.equal(status, 200, text);
      const [body] = stream ? checkGenerateStream(text).data : [JSON.parse(text)];
      assert.deepEqual([body.promptFeedback.blockReason, body.candidates], ['SAFETY', undefined]);
    });
  }
});

describe('spellings', () => {
  const camel: Json = {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'look' }, { inlineData: { mimeType: 'image/png', data: 'aGk=' } }] },
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'f', args: { keep_this: 1, keepThat: 2 } } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'f', response: { some_output: 1 } } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object', properties: {} } }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: { maxOutputTokens: 50, topP: 0.5, stopSequences: ['END'] },
  };
  const KEPT = ['args', 'response', 'parametersJsonSchema'];

  function snake(value: Json): Json {
    if (Array.isArray(value)) return value.map(snake);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        KEPT.includes(key) ? item : snake(item),
      ]),
    );
  }

  for (const upstream of ['chat', 'messages'] as const) {
    test(`checklist 54: snake case means the same to ${upstream}`, async () => {
      const bodies: Json[] = [];
      for (const change of [camel, snake(camel)]) {
        await whole(rig, { protocol: 'generate', model: MODELS[upstream], change });
        bodies.push(rig.upstream.calls.at(-1)?.body);
      }
      assert.deepEqual(bodies[1], bodies[0]);
      assert.ok(JSON.stringify(bodies[0]).includes('keep_this') && JSON.stringify(bodies[0]).includes('aGk='));
    });
  }

  for (const upstream of IDS) {
    test(`checklist 54: unknown keys are no error before ${upstream}`, async () => {
      const change = { brandNew: 1, generationConfig: { alsoNew: 2, maxOutputTokens: 5 } };
      await whole(rig, { protocol: 'generate', model: MODELS[upstream], change });
      assert.equal(rig.upstream.calls.length, 1);
    });
  }
});

test('checklist 56: the total is the sum of its parts, tool use and thoughts included', async () => {
  const usage = {
    ...{ prompt_tokens: 10, completion_tokens: 9, total_tokens: 19 },
    completion_tokens_details: { reasoning_tokens: 4 },
  };
  rig.say({ text: 'Hello', usage });
  const { usageMetadata } = await whole(rig, { protocol: 'generate', model: 'a/m' });
  assertCounts(usageMetadata);
  assert.equal(usageMetadata.totalTokenCount, 19);
});

test('checklist 48, 50: a sign of life is a chunk like all others, with nothing to say', async () => {
  rig.answer((_call, response) => {
    const stream = SPEAKERS.messages.stream({ text: 'Hello' });
    const start = stream.indexOf('event: content_block_delta');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(stream.slice(0, start) + named({ type: 'ping' }) + stream.slice(start));
  });
  const text = await streamed(rig, { protocol: 'generate', model: 'b/m' });
  const empty = text
    .split('\r\n\r\n')
    .filter((frame) => frame.includes('"text":""') && !frame.includes('"finishReason"'));
  assert.equal(empty.length, 1);
  checkGenerateStream(text);
});
