/** Canaries are planted in everything secret or private, and looked for in everything that can be seen from outside. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { type Collector, startCollector } from '../telemetry/collector.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import {
  answerEvents,
  answerJson,
  HEADERS,
  KEY,
  PATHS,
  type ProtocolId,
  question,
  type RawResponse,
  sendRaw,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';
import { createVideoClock, eventually, videoClient } from './video-client.ts';

const CA = join(import.meta.dirname, '../net/fixtures/test-only-ca.pem');

/** What nobody may see, not even the client. */
const HIDDEN = {
  upstreamKey: 'sk-upstream-canary-0123456789abcdef',
  accountKey: 'sk-proj-canary-9876543210fedcba',
  webhookSecret: 'whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5',
  adminToken: 'admin-canary-0123456789-0123456789-0123',
  collectorKey: 'collector-canary-0123456789',
  internalAddress: 'internal-canary.example',
};
/** What is the client's own, and goes to nobody else. */
const PRIVATE = {
  key: KEY,
  prompt: 'a canary that sings in the mine',
  answer: 'the canary has stopped singing',
  callbackPath: 'callback-path-canary',
  callbackQuery: 'callback-query-canary',
  wrongKey: 'sk-wrong-canary-0123456789',
};
const SPOKEN = `Incorrect API key ${HIDDEN.accountKey} at https://${HIDDEN.internalAddress}/?q=1`;

const CHAT = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: PRIVATE.answer }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 },
};
const CHUNK = (delta: Json, finish: string | null) =>
  `data: ${JSON.stringify({ ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** How the upstream answers, by the model that it is asked for. */
const BEHAVIOURS: Record<string, (call: UpstreamCall, response: Parameters<typeof answerJson>[0]) => void> = {
  well: ({ body }, response) =>
    body.stream
      ? answerEvents(response, `${CHUNK({ content: PRIVATE.answer }, null)}${CHUNK({}, 'stop')}data: [DONE]\n\n`)
      : answerJson(response, CHAT),
  refuses: (_, response) => answerJson(response, { error: { message: SPOKEN, code: 'invalid_api_key' } }, 401),
  objects: (_, response) => answerJson(response, { error: { message: SPOKEN, type: 'invalid_request_error' } }, 400),
  breaks: (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(CHUNK({ content: PRIVATE.answer }, null), () => response.destroy());
  },
  babbles: (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${SPOKEN}</p>`),
  errs: (_, response) => answerEvents(response, `data: ${JSON.stringify({ error: { message: SPOKEN } })}\n\n`),
};

let upstream: TestUpstream;
let collector: Collector;
let receiver: Receiver;
let gateway: TestGateway;
const seen: { what: string; response: RawResponse }[] = [];

before(async () => {
  upstream = await startUpstream((call, response) => BEHAVIOURS[call.body.model]?.(call, response));
  collector = await startCollector();
  receiver = await startReceiver();
  const models = Object.keys(BEHAVIOURS).map(
    (id) => `{ id: ${id}, pricing: { prompt: "0.000001", completion: "0.000001" } }`,
  );
  const yaml = `
providers:
  p: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: ${HIDDEN.upstreamKey}, models: [${models}] }
callbacks: { secret: ${HIDDEN.webhookSecret}, allow_cidrs: [127.0.0.1/32], ca_file: ${JSON.stringify(CA)} }
telemetry: { otlp: { endpoint: "${collector.url}", headers: { x-key: ${HIDDEN.collectorKey} } }, propagate: true }
admin: { token: ${HIDDEN.adminToken}, port: 0 }
`;
  gateway = await startTestGateway(yaml, { clock: createVideoClock() });
  await askEverything();
  await makeVideos();
  await lookAround();
});
after(async () => {
  await upstream.close();
  await receiver.close();
});

async function send(what: string, request: Parameters<typeof sendRaw>[1]): Promise<RawResponse | undefined> {
  const response = await sendRaw(gateway.url, request).catch(() => undefined);
  if (response) seen.push({ what, response });
  return response;
}

async function askEverything(): Promise<void> {
  for (const protocol of Object.keys(PATHS) as ProtocolId[]) {
    for (const model of [...Object.keys(BEHAVIOURS), 'unknown']) {
      for (const stream of [false, true]) {
        const body = JSON.stringify(question(protocol, `p/${model}`, PRIVATE.prompt, stream));
        const headers = { ...HEADERS[protocol], 'content-type': 'application/json', 'x-polygate-trace': 'true' };
        await send(`${protocol} ${model} ${stream}`, {
          ...{ method: 'POST', path: PATHS[protocol](`p/${model}`, stream), headers, body },
        });
      }
    }
  }
}

async function makeVideos(): Promise<void> {
  const client = videoClient(gateway);
  const hook = `https://127.0.0.1:${receiver.port}/${PRIVATE.callbackPath}?token=${PRIVATE.callbackQuery}`;
  const body = { prompt: `fail: ${PRIVATE.prompt}`, callback_url: hook };
  const { id } = await client.create(body);
  const gone = await startReceiver();
  await gone.close();
  const lost = await client.create({ ...body, callback_url: hook.replace(String(receiver.port), String(gone.port)) });
  await client.until(id, 'failed');
  for (const task of [id, lost.id]) {
    await eventually(gateway, async () => {
      const { body: deliveries } = await client.send('GET', `/v1/videos/${task}/deliveries`);
      return deliveries.data[0]?.attempts.length > 0;
    });
  }
  // The thread that delivers tells of an attempt after it is stored.
  const request = { method: 'GET', path: '/metrics', headers: { authorization: `Bearer ${HIDDEN.adminToken}` } };
  await eventually(gateway, async () => {
    const { text } = await sendRaw(gateway.url, request);
    return ['ack', 'connect'].every((outcome) => text.includes(`webhook_attempts_total{outcome="${outcome}"}`));
  });
}

/** What strangers and the curious do. */
async function lookAround(): Promise<void> {
  const json = { 'content-type': 'application/json' };
  const wrong = { ...json, authorization: `Bearer ${PRIVATE.wrongKey}` };
  await send('wrong key', { method: 'POST', path: '/v1/chat/completions', headers: wrong, body: PRIVATE.prompt });
  await send('no JSON', {
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { ...json, ...HEADERS.chat },
    body: '{',
  });
  await send('key in the path', { method: 'GET', path: `/v1/${PRIVATE.wrongKey}?key=${PRIVATE.key}` });
  await send('wrong token', { method: 'GET', path: '/metrics', headers: wrong });
  await send('lists', { method: 'GET', path: '/v1/models' });
  await send('the description', { method: 'GET', path: '/openapi.json' });
  const authorization = `Bearer ${HIDDEN.adminToken}`;
  await send('figures', { method: 'GET', path: '/metrics', headers: { authorization } });
}

function assertWithout(text: string, canaries: Record<string, string>): void {
  for (const [name, canary] of Object.entries(canaries)) {
    const at = text.indexOf(canary);
    assert.equal(at, -1, `${name}: ${text.slice(Math.max(0, at - 200), at + 200)}`);
  }
}

test('the canaries were there to be seen', () => {
  assert.ok(upstream.calls.some(({ headers }) => headers.authorization === `Bearer ${HIDDEN.upstreamKey}`));
  assert.ok(upstream.calls.some(({ bytes }) => bytes.includes(PRIVATE.prompt)));
  assert.ok(seen.some(({ response }) => response.text.includes(PRIVATE.answer)));
  assert.ok(receiver.received.length > 0);
});

test('the log has none', () => {
  assert.ok(gateway.log.length > 40);
  for (const line of gateway.log) assertWithout(JSON.stringify(line), { ...HIDDEN, ...PRIVATE });
});

describe('answers have none but what is the client’s own', () => {
  test('headers and trailers', () => {
    assert.ok(seen.some(({ response }) => Object.keys(response.trailers).length > 0));
    for (const { response } of seen)
      assertWithout(JSON.stringify([response.headers, response.trailers]), { ...HIDDEN, ...PRIVATE });
  });

  test('bodies', () => {
    for (const { response } of seen) assertWithout(response.text, HIDDEN);
  });

  test('errors', () => {
    const errors = seen.filter(({ response }) => response.status >= 400);
    assert.ok(errors.length >= 24);
    const { key, wrongKey, prompt, answer: spoken } = PRIVATE;
    for (const { what, response } of errors) {
      // The path is the client's own word.
      const canaries: Record<string, string> =
        what === 'key in the path' ? { key, prompt } : { key, wrongKey, prompt, spoken };
      assertWithout(response.text, canaries);
    }
  });

  test('traces of decisions', () => {
    const traces = seen.flatMap(({ response }) => response.headers['x-polygate-trace'] ?? []);
    assert.ok(traces.length > 0);
    for (const trace of traces) {
      const text = Buffer.from(String(trace), 'base64').toString() + String(trace);
      assertWithout(text, { ...HIDDEN, ...PRIVATE });
    }
  });
});

test('figures have none', () => {
  const figures = seen.find(({ what }) => what === 'figures');
  assert.equal(figures?.response.status, 200);
  assert.match(figures.response.text, /^polygate_webhook_attempts_total\{outcome="ack"\} 1$/m);
  assert.match(figures.response.text, /^polygate_webhook_attempts_total\{outcome="connect"\} [1-9]/m);
  assertWithout(figures.response.text, { ...HIDDEN, ...PRIVATE });
});

test('webhooks have none', () => {
  const { prompt, callbackPath, ...rest } = PRIVATE;
  for (const { headers, body } of receiver.received) {
    assertWithout(JSON.stringify(headers) + body.toString(), { ...HIDDEN, ...rest });
  }
});

test('what a collector gets has none', async () => {
  await gateway.close();
  await collector.close();
  assert.ok(collector.spans().length > 40 && collector.metrics().length > 0);
  assertWithout(collector.text(), { ...HIDDEN, ...PRIVATE });
});
