/** A relayed stream, frame by frame: when it is complete, what a failure leaves, and the model's name. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../src/core/errors.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { EncoderOptions } from '../../src/core/operation.ts';
import type { Protocol } from '../../src/core/protocol.ts';
import type { Output } from '../../src/inference/response/converter.ts';
import { createRelay } from '../../src/inference/response/relay-stream.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { generate } from '../../src/protocols/generate/index.ts';
import { messages } from '../../src/protocols/messages/index.ts';
import { responses } from '../../src/protocols/responses/index.ts';

const options: EncoderOptions = { model: 'a/m', created: 1, includeUsage: true, array: false, hideReasoning: false };

function relayed(protocol: Protocol, frames: string[]): string {
  const pipe = createRelay(protocol, options);
  const out: Output[] = [];
  for (const frame of frames) pipe.push(Buffer.from(frame), out);
  pipe.end(out);
  return [...out, ...pipe.last()].join('');
}

const text = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n';
const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n';
const stop = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

test('a chat stream may end with its finish reason, or with its usage after it', () => {
  assert.equal(relayed(chat, [text, finish]), text + finish);
  assert.equal(relayed(chat, [text, finish, usage]), text + finish + usage);
});

test('a frame that only mentions a tool is not parsed, one that tells of its use is', () => {
  const delta = (text: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
  const run = { type: 'server_tool_use', id: 's', name: 'bash_code_execution', input: {} };
  const places = { groundingMetadata: { groundingChunks: [{ maps: {} }] } };
  const called = (args: Json) => ({ candidates: [{ content: { parts: [{ functionCall: { name: 'a', args } }] } }] });
  for (const [protocol, opening, plain, telling] of [
    [messages, delta('Hi'), delta('code_execution'), { type: 'content_block_start', index: 1, content_block: run }],
    [generate, called({}), called({ maps: 1, webSearchQueries: [] }), { candidates: [places] }],
  ] as const) {
    const parsed: Json[] = [];
    const pipe = createRelay(protocol, options, { learn: (body) => parsed.push(body) });
    for (const body of [opening, plain, telling]) pipe.push(Buffer.from(`data: ${JSON.stringify(body)}\n\n`), []);
    assert.deepEqual(parsed.slice(1), [telling]);
  }
});

test('a last [DONE] without its blank line gets one', () => {
  assert.equal(relayed(chat, [text, finish, 'data: [DONE]\n']), `${text}${finish}data: [DONE]\n\n\n`);
});

test('a cut after the end mark is no error', () => {
  assert.equal(relayed(chat, [text, finish, 'data: {"half']), text + finish);
  assert.equal(relayed(messages, [stop, 'data: [DONE]\n\n']), `${stop}data: [DONE]\n\n`);
});

test('frames before the answer are held back, and sent where they replace pings', () => {
  const silent = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n';
  const pipe = createRelay(chat, options);
  const out: Output[] = [];
  for (let count = 0; count < 10; count++) pipe.push(Buffer.from(silent), out);
  assert.equal(out.join(''), '');
  for (let count = 0; count < 90; count++) pipe.push(Buffer.from(silent), out);
  assert.equal(out.join(''), silent.repeat(100));
  assert.equal(relayed(chat, [silent, text, finish]), silent + text + finish);
});

test('a stream without its end mark is incomplete', () => {
  assert.throws(() => relayed(chat, [text]), GatewayError);
  assert.throws(() => relayed(messages, ['event: ping\ndata: {"type":"ping"}\n\n']), GatewayError);
});

test('data before an error in the same chunk is passed on', () => {
  const pipe = createRelay(chat, options);
  const out: Output[] = [];
  const bytes = Buffer.from(`${text}data: {"error":{"message":"broken","code":500}}\n\n`);
  assert.throws(() => pipe.push(bytes, out), GatewayError);
  assert.equal(out.join(''), text);
});

test('the model is renamed in every frame, however frames begin, and nowhere else', () => {
  const named = (id: string, model: string) =>
    `data: {"id":"${id}","model":"${model}","choices":[{"index":0,"delta":{"content":"\\"model\\":\\"m\\""},"finish_reason":null}],"x":{"model":"m"}}\n\n`;
  const ids = ['1', '1', '22', '22', '1'];
  const answer = relayed(chat, [...ids.map((id) => named(id, 'm-2026')), finish]);
  assert.equal(answer, ids.map((id) => named(id, 'a/m')).join('') + finish);
});

test('a model that is named twice, or with escapes, is renamed wherever it stands', () => {
  const tail = '"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]';
  const twice = (first: string, last: string) => `data: {"model":"${first}",${tail},"model":"${last}"}\n\n`;
  const escaped = (name: string) => `data: {"id":"1","\\u006dodel":"${name}",${tail},"mo\\u0064el":"${name}"}\n\n`;
  const plain = (name: string) => `data: {"model":"${name}",${tail}}\n\n`;
  const given = [plain('m1'), twice('m1', 'm2'), plain('m1'), escaped('m3'), twice('m1', 'm1')];
  const shown = [plain('a/m'), twice('a/m', 'a/m'), plain('a/m'), escaped('a/m'), twice('a/m', 'a/m')];
  assert.equal(relayed(chat, [...given, finish]), shown.join('') + finish);
  const start = (one: string, two: string) =>
    `event: message_start\ndata: {"type":"message_start","message":{"model":"${one}"},"message":{"model":"${two}","model":"${one}"}}\n\n`;
  const delta = 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n';
  assert.equal(relayed(messages, [start('m1', 'm2'), delta, stop]), start('a/m', 'a/m') + delta + stop);
});

test('a failed choice ends the stream with an error', () => {
  const failures = [
    { error: { code: 502, message: 'Disconnected.' }, choices: [{ index: 0, delta: {}, finish_reason: 'error' }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'Disconnected.' } }] },
  ];
  for (const failure of failures) {
    const pipe = createRelay(chat, options);
    const out: Output[] = [];
    const bytes = Buffer.from(`${text}data: ${JSON.stringify(failure)}\n\ndata: [DONE]\n\n`);
    assert.throws(() => pipe.push(bytes, out), GatewayError);
    assert.equal(pipe.complete(), false);
    assert.equal(out.join(''), text);
  }
});

test('the cost in a stream is that of its end, also where nothing was said', () => {
  const said: (string | undefined)[] = [];
  const pipe = createRelay(chat, options, {
    costOf(_, reason) {
      said.push(reason);
      return { total: 1, input: 1 };
    },
  });
  const out: Output[] = [];
  const empty = 'data: {"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}\n\n';
  const counts = 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":0}}\n\n';
  for (const frame of [empty, finish, counts]) pipe.push(Buffer.from(frame), out);
  pipe.end(out);
  assert.ok(said.length > 0 && said.every((reason) => reason === 'stop'), said.join());
  assert.match([...out, ...pipe.last()].join(''), /"cost":1\b/);
});

test('the cost beside counts that an upstream did not make is that of the estimate', () => {
  const priced: number[] = [];
  const pipe = createRelay(
    chat,
    { ...options, includeUsage: true },
    {
      costOf({ output }) {
        priced.push(output);
        return { total: output, input: 0 };
      },
    },
  );
  const out: Output[] = [];
  const said = 'data: {"choices":[{"index":0,"delta":{"content":"Hello you there."},"finish_reason":null}]}\n\n';
  const counts = 'data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}\n\n';
  for (const frame of [said, finish, counts]) pipe.push(Buffer.from(frame), out);
  pipe.end(out);
  assert.equal(pipe.usage(), undefined);
  assert.ok((priced[0] ?? 0) > 0);
  assert.deepEqual(priced, [pipe.partialUsage()?.output]);
});

test('frames after the end are passed on up to 64 KiB', () => {
  const late = `data: {"text":"${'x'.repeat(10_000)}"}\n\n`;
  const text = relayed(messages, [stop, ...Array.from({ length: 100 }, () => late)]);
  assert.equal(text, stop + late.repeat(7));
});

test('a response that fails leaves its id and its usage', () => {
  const response = { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'no' }, output: [] };
  const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
  const failed = JSON.stringify({ type: 'response.failed', response: { ...response, usage } });
  const pipe = createRelay(responses, options);
  assert.throws(() => pipe.push(Buffer.from(`event: response.failed\ndata: ${failed}\n\n`), []), GatewayError);
  assert.equal(pipe.facts().id, 'resp_1');
  const { input, output } = pipe.partialUsage() ?? {};
  assert.deepEqual([input, output], [5, 2]);
});

test('a response that fails has the count of its images that was reported, and else an estimate', () => {
  const image = { type: 'image_generation_call', status: 'completed', result: 'iVBORw0KGgo=', quality: 'high' };
  const done = { type: 'response.output_item.done', output_index: 0, item: image };
  const response = { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'no' }, output: [] };
  const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
  for (const [output_tokens, counted] of [
    [1056, 1056],
    [7000, 7000],
    [0, 6240],
  ]) {
    const failed = {
      type: 'response.failed',
      response: { ...response, usage, tool_usage: { image_gen: { output_tokens } } },
    };
    const pipe = createRelay(responses, options);
    pipe.push(Buffer.from(`data: ${JSON.stringify(done)}\n\n`), []);
    assert.throws(() => pipe.push(Buffer.from(`data: ${JSON.stringify(failed)}\n\n`), []), GatewayError);
    assert.equal(pipe.partialUsage()?.imageToolOutput, counted);
  }
});

test('the tools of a last frame without its blank line are counted once', () => {
  const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } };
  const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'a' } };
  const image = { type: 'image_generation_call', status: 'completed', result: 'iVBORw0KGgo=', quality: 'low' };
  const done = (item: object) => ({ type: 'response.output_item.done', output_index: 0, item });
  for (const end of ['\n\n', '\n', ''])
    for (const last of [search, image]) {
      const frames = [created, done(search), done(last)].map((data) => `data: ${JSON.stringify(data)}`).join('\n\n');
      const pipe = createRelay(responses, options);
      const out: Output[] = [];
      pipe.push(Buffer.from(frames + end), out);
      assert.throws(() => pipe.end(out), GatewayError);
      const { searches, imageToolOutput } = pipe.partialUsage() ?? {};
      assert.deepEqual([searches, imageToolOutput], last === search ? [2, undefined] : [1, 408]);
      assert.ok(out.join('').includes(frames));
    }
});

test('a response that is cut off before its first item has the id of its preamble', () => {
  const created = JSON.stringify({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } });
  const pipe = createRelay(responses, options);
  pipe.push(Buffer.from(`event: response.created\ndata: ${created}\n\n`), []);
  assert.throws(() => pipe.end([]), GatewayError);
  assert.deepEqual([pipe.facts().id, pipe.firstId?.()], ['resp_1', 'resp_1']);
});
