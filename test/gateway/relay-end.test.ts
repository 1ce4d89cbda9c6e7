/** End of a relayed stream: servers send more after it, or omit the end mark. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  answerEvents,
  HEADERS,
  PATHS,
  type ProtocolId,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

let upstream: TestUpstream;
let gateway: TestGateway;
let stream = '';

before(async () => {
  upstream = await startUpstream((_call, response) => answerEvents(response, stream));
  gateway = await startTestGateway(`
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: upstream-key-b, models: [{ id: m }] }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

/** What a client that asks for usage gets for the upstream's frames. */
async function relayed(protocol: ProtocolId, model: string, text: string): Promise<string> {
  stream = text;
  const usage = protocol === 'chat' && { stream_options: { include_usage: true } };
  const body = { ...question(protocol, model, 'Hi', true), ...usage };
  const response = await post(gateway.url + PATHS[protocol](model, true), body, HEADERS[protocol]);
  return response.text();
}

const text = 'data: {"model":"a/m","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n';
const finish = 'data: {"model":"a/m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const usage = 'data: {"model":"a/m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n';

test('a chat stream may end with its finish reason', async () => {
  assert.equal(await relayed('chat', 'a/m', text + finish), text + finish);
});

test('a chat stream may end with its usage', async () => {
  assert.equal(await relayed('chat', 'a/m', text + finish + usage), text + finish + usage);
});

test('a last [DONE] without its blank line is kept', async () => {
  const got = await relayed('chat', 'a/m', `${text}${finish}data: [DONE]\n`);
  assert.equal(got.trimEnd(), `${text}${finish}data: [DONE]`);
});

test('a chat stream without a finish reason for every choice broke off', async () => {
  assert.match(await relayed('chat', 'a/m', text), /upstream closed its response/);
  const half = text.replace('}]}', '},{"index":1,"delta":{},"finish_reason":"stop"}]}');
  assert.match(await relayed('chat', 'a/m', half), /upstream closed its response/);
});

test('a messages stream may be followed by a [DONE]', async () => {
  const message = '{"model":"b/m","usage":{"input_tokens":1}}';
  const frames = [
    `event: message_start\ndata: {"type":"message_start","message":${message}}\n\n`,
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    'event: data\ndata: [DONE]\n\n',
  ].join('');
  assert.equal(await relayed('messages', 'b/m', frames), frames);
});
