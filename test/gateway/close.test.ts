/** The end of the gateway: what it waits for, and what it doesn't. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { answerJson, ask, HEADERS, PATHS, question, startTestGateway, startUpstream } from './harness.ts';

test('closing waits for no connection on which nothing was asked', { timeout: 10_000 }, async (context) => {
  const gateway = await startTestGateway();
  const { hostname, port } = new URL(gateway.url);
  const spare = connect(Number(port), hostname);
  context.after(() => spare.destroy());
  await once(spare, 'connect');
  const ended = once(spare, 'close');
  // An answer to a later connection shows that the gateway has taken the spare one.
  const answer = await ask(gateway, { protocol: 'chat', model: 'sandbox/echo', text: 'hi' });
  assert.equal(answer.status, 200);
  await answer.text();
  await gateway.close();
  await ended;
});

test('closing lets a running answer finish, and waits no longer for its kept-alive connection', {
  timeout: 10_000,
}, async () => {
  let finish: () => void = () => assert.fail('nobody asked');
  const upstream = await startUpstream((_call, response) => {
    finish = () =>
      answerJson(response, {
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'late' }, finish_reason: 'stop' }],
      });
  });
  const gateway = await startTestGateway(
    `providers: { a: { type: openai-compatible, base_url: "${upstream.url}/v1", models: [{ id: m }] } }`,
  );
  const agent = new Agent({ keepAlive: true });
  const answered = new Promise<string>((resolve, reject) => {
    const body = JSON.stringify(question('chat', 'a/m', 'hi'));
    const headers = { ...HEADERS.chat, 'content-type': 'application/json' };
    request(gateway.url + PATHS.chat(), { method: 'POST', agent, headers }, async (response) => {
      resolve(Buffer.concat(await response.toArray()).toString());
    })
      .on('error', reject)
      .end(body);
  });
  while (upstream.calls.length === 0) await new Promise(setImmediate);
  const closed = gateway.close();
  finish();
  assert.match(await answered, /late/);
  await closed;
  agent.destroy();
  await upstream.close();
});
