/** Clients that leave at the finish reason of a stream, as many do: the usage behind it is charged if it comes soon. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import {
  HEADERS,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { eventually } from '../gateway/video-client.ts';

let upstream: TestUpstream;
let gateway: TestGateway;
let answering = Promise.withResolvers<ServerResponse>();

const chunkOf = (choices: Json[], more: Json = {}): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`;
const WORD = chunkOf([{ index: 0, delta: { role: 'assistant', content: 'Yes' }, finish_reason: null }]);
const FINISH = chunkOf([{ index: 0, delta: {}, finish_reason: 'stop' }]);
/** 0.03002 USD, nearly all of it for reasoning that nobody saw. */
const USAGE = {
  ...{ prompt_tokens: 10, completion_tokens: 3001, total_tokens: 3011 },
  completion_tokens_details: { reasoning_tokens: 3000 },
};
const LAST = `${chunkOf([], { usage: USAGE })}data: [DONE]\n\n`;

before(async () => {
  upstream = await startUpstream((_call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(WORD);
    answering.resolve(response);
  });
  gateway = await startTestGateway(
    `providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.00001" } }] } }`,
  );
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Left {
  response: ServerResponse;
  recorded: Promise<Json>;
}

/** Asks, hears the answer up to `heard`, and leaves. */
async function leaveAfter(heard: string): Promise<Left> {
  answering = Promise.withResolvers();
  const leaving = new AbortController();
  const body = { model: 'a/m', stream: true, messages: [{ role: 'user', content: 'Hi' }] };
  const answer = await post(`${gateway.url}/v1/chat/completions`, body, HEADERS.chat, leaving.signal);
  const response = await answering.promise;
  if (heard === 'stop') response.write(FINISH);
  let text = '';
  for await (const part of answer.body ?? []) {
    text += Buffer.from(part).toString();
    if (text.includes(heard)) break;
  }
  leaving.abort();
  return { response, recorded: recordOf(answer.headers.get('x-polygate-request-id')) };
}

/** The log's last word on the request. */
async function recordOf(requestId: string | null): Promise<Json> {
  const find = () => gateway.log.find((line) => line.requestId === requestId && line.msg === 'answered');
  await eventually({}, () => find() !== undefined);
  return find();
}

test('the usage that comes a moment later is charged', async () => {
  const { response, recorded } = await leaveAfter('stop');
  // Until then the gateway has seen that the client left.
  const later = performance.now() + 300;
  await eventually({}, () => response.closed || performance.now() > later);
  assert.ok(!response.closed, 'the upstream is read on');
  response.end(LAST);
  const { status, cost, usage } = await recorded;
  assert.deepEqual([status, cost], ['client-closed', '0.03002']);
  assert.deepEqual(usage, { input: 10, output: 3001, reasoning: 3000 });
});

test('usage that does not come is not waited for', async () => {
  const { response, recorded } = await leaveAfter('stop');
  const began = performance.now();
  await once(response, 'close');
  const waited = performance.now() - began;
  assert.ok(waited > 500, `${waited} ms`);
  const { status, usage } = await recorded;
  assert.deepEqual([status, usage], ['client-closed', { input: 8, output: 1, estimated: true }]);
});

test('before the finish reason, the upstream is left at once', async () => {
  const { response, recorded } = await leaveAfter('Yes');
  const began = performance.now();
  await once(response, 'close');
  assert.ok(performance.now() - began < 900);
  assert.equal((await recorded).usage.estimated, true);
});
