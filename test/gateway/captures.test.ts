/** Captures over HTTP: both sides of a request of a session, without credentials, bounded, and for that session alone. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { problems } from '../../src/core/json/check.ts';
import type { Json } from '../../src/core/json/json.ts';
import { captureDetail } from '../../src/http/requests/capture-schema.ts';
import { requestOf, WIRES, type WireId } from '../faults/wires.ts';
import { createManualClock } from '../jobs/manual-clock.ts';
import { startPlain, type TestServer } from '../net/servers.ts';
import { type Browser, openBrowser } from './browser.ts';
import {
  answerEvents,
  answerJson,
  createPermits,
  KEY,
  type RawResponse,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';

const TOKEN = 'admin-token-0123456789-0123456789';
const OTHER_KEY = 'sk-other-gateway-key-0123456789';
const IDS: readonly WireId[] = ['chat', 'messages', 'generate', 'responses'];
const TYPES = { chat: 'openai-compatible', messages: 'anthropic', generate: 'google', responses: 'open-responses' };
/** What nobody may find in a capture. */
const CANARIES = {
  upstreamKey: 'sk-canary-of-the-provider-0123456789',
  header: 'canary-in-a-header-0123456789',
  query: 'canary-in-a-query-0123456789',
  clientHeader: 'canary-of-the-client-0123456789',
};
const MINUTE_MS = 60_000;
const permits = createPermits();
const clock = createManualClock(Date.now());

let upstream: TestUpstream;
/** Ends each connection at its second request. */
let ending: TestServer;
let gateway: TestGateway;
let operator: Browser;
let keyHash: string;

function answer(call: UpstreamCall, response: Parameters<typeof answerJson>[0]): void | Promise<void> {
  const protocol = IDS.find((id) => call.path.startsWith(`/${id}/`)) ?? 'chat';
  const { head, text, tail, whole } = WIRES[protocol];
  const streamed = call.body?.stream === true || call.path.includes('streamGenerate');
  const asked = JSON.stringify(call.body);
  if (asked.includes('refuse')) {
    const message = `Key ${CANARIES.upstreamKey} has not enough at https://internal.example/.`;
    answerJson(response, { error: { message } }, 400, { 'x-account': CANARIES.header });
  } else if (asked.includes('busy')) answerJson(response, { error: { message: 'Busy.' } }, 503);
  else if (asked.includes('much')) answerJson(response, { ...whole, padding: 'p'.repeat(600_000) });
  else if (asked.includes('echo')) {
    const { authorization = '' } = call.headers;
    answerJson(response, { ...whole, echo: call.headers }, 200, { 'x-request-id': `of ${authorization}` });
  } else if (asked.includes('stay')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(head);
    return permits.take().then(() => void response.end(text('lo') + tail));
  } else if (asked.includes('trail')) {
    const type = streamed ? 'text/event-stream' : 'application/json';
    response.writeHead(200, { 'content-type': type, trailer: 'x-request-id, x-account' });
    response.write(streamed ? head + text('lo') + tail : JSON.stringify(whole));
    response.addTrailers({ 'x-request-id': 'trailing-7', 'x-account': CANARIES.header });
    response.end();
  } else if (streamed) answerEvents(response, head + text('lo') + tail);
  else answerJson(response, whole);
}

before(async () => {
  upstream = await startUpstream(answer);
  const whole = JSON.stringify(WIRES.chat.whole);
  ending = await startPlain((socket) => {
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${whole.length}\r\n\r\n${whole}`);
      socket.once('data', () => socket.end());
    });
  });
  const base = (id: WireId) => `${upstream.url}/${id}${id === 'chat' || id === 'responses' ? '/v1' : ''}`;
  const providers = IDS.map(
    (id) =>
      `  up-${id}: { type: ${TYPES[id]}, base_url: "${base(id)}", api_key: ${CANARIES.upstreamKey}, headers: { x-team: ${CANARIES.header} }, models: [{ id: m }] }`,
  );
  gateway = await startTestGateway(
    `admin: { token: ${TOKEN}, port: 0 }
providers:
${providers.join('\n')}
  ends: { type: openai-compatible, base_url: "http://127.0.0.1:${ending.port}/v1", models: [{ id: m }] }
  openai: { base_url: "${upstream.url}/chat/v1", api_key: ${CANARIES.upstreamKey} }
models: { house/m: { endpoints: [{ provider: up-chat, model: m }, { provider: sandbox, model: echo, priority: 1 }] } }`,
    { clock, keys: [`{ name: other, key: ${OTHER_KEY} }`] },
  );
  operator = await browserOf({ token: TOKEN });
  const keys = (await operator.send('GET', '/admin/v1/keys')).json.data as Json[];
  keyHash = keys.find(({ name }) => name === 'test').hash;
});
after(async () => {
  await gateway.close();
  await ending.close();
  await upstream.close();
});

async function browserOf(login: Json): Promise<Browser> {
  const browser = openBrowser(gateway.url);
  assert.equal((await browser.login(login)).status, 201);
  return browser;
}

interface Asking {
  client?: WireId;
  model: string;
  text?: string;
  stream?: boolean;
  headers?: Record<string, string>;
  query?: string;
}

function ask(
  browser: Browser,
  { client = 'chat', model, text = 'Hello', stream = false, headers, query = '' }: Asking,
): Promise<RawResponse & { json: Json }> {
  const { path, body } = requestOf(client, { model, text, stream });
  const own = {
    'x-polygate-capture': '1',
    'anthropic-version': '2023-06-01',
    ...(browser === operator && { 'x-polygate-key': keyHash }),
  };
  return browser.send('POST', path + query, { body, headers: { ...own, ...headers } });
}

const idOf = ({ headers }: RawResponse): string => String(headers['x-polygate-capture']);

async function captureOf(browser: Browser, response: RawResponse): Promise<Json> {
  const base = browser === operator ? '/admin/v1' : '/v1/self';
  const { status, text, json } = await browser.send('GET', `${base}/captures/${idOf(response)}`);
  assert.equal(status, 200, text);
  assert.deepEqual(problems(captureDetail, json), []);
  for (const canary of [...Object.values(CANARIES), KEY, OTHER_KEY, TOKEN, browser.cookie.split('=')[1] ?? '']) {
    assert.ok(!text.includes(canary), `${canary} in ${text}`);
  }
  return json.data;
}

test('the trailers of a stream are seen, with the cost of the request', async () => {
  const response = await ask(operator, { client: 'messages', model: 'openai/gpt-4o-mini', stream: true });
  const { response: got, upstream: sendings } = await captureOf(operator, response);
  assert.match(response.trailers['x-polygate-cost'] ?? '', /^0\.0/);
  assert.deepEqual(got.trailers, { ...response.trailers });
  assert.equal(sendings[0].response.trailers, undefined);
  const whole = await ask(operator, { client: 'messages', model: 'openai/gpt-4o-mini' });
  assert.equal((await captureOf(operator, whole)).response.trailers, undefined);
});

for (const stream of [false, true]) {
  for (const client of ['chat', 'messages'] as const) {
    test(`trailers of the upstream are seen without credentials, of ${client} to chat, ${stream ? 'streamed' : 'whole'}`, async () => {
      const response = await ask(operator, { client, model: 'up-chat/m', text: 'trail', stream });
      assert.equal(response.status, 200, response.text);
      const [sending] = (await captureOf(operator, response)).upstream;
      assert.deepEqual(sending.response.trailers, { 'x-request-id': 'trailing-7', 'x-account': '***' });
      assert.equal(response.trailers['x-request-id'], undefined, 'they are not passed on');
    });
  }
}

test('that a request met the end of a kept connection is noted', async () => {
  const asking = { model: 'ends/m', text: 'Hello' };
  assert.equal((await ask(operator, asking)).status, 200);
  await wait(1100);
  const response = await ask(operator, asking);
  assert.equal(response.status, 200, response.text);
  const sendings = (await captureOf(operator, response)).upstream;
  assert.deepEqual(
    sendings.map(({ note }: Json) => note),
    ['sent again, as the kept connection ended'],
  );
});

for (const stream of [false, true]) {
  describe(`a ${stream ? 'streamed' : 'whole'} request`, () => {
    for (const client of IDS) {
      for (const server of IDS) {
        test(`of ${client} to ${server} is seen on both sides`, async () => {
          const query = `${client === 'generate' && stream ? '&' : '?'}token=${CANARIES.query}`;
          const headers = { 'x-secret': CANARIES.clientHeader };
          const response = await ask(operator, { client, model: `up-${server}/m`, stream, headers, query });
          assert.equal(response.status, 200, response.text);
          const capture = await captureOf(operator, response);
          const [sending, ...others] = capture.upstream;
          assert.deepEqual(others, []);
          const call = upstream.calls.at(-1);
          assert.equal(capture.request_id, response.headers['x-polygate-request-id']);
          assert.deepEqual(
            JSON.parse(capture.request.body.text),
            requestOf(client, { model: `up-${server}/m`, text: 'Hello', stream }).body,
          );
          assert.equal(capture.request.headers['x-secret'], '***');
          assert.equal(capture.request.headers.cookie, '***');
          assert.equal(sending.request.body.text, call?.bytes.toString());
          assert.equal(sending.request.url, upstream.url + String(call?.path).replace(/key=.*/, 'key=***'));
          assert.equal(sending.path, response.headers['x-polygate-path']);
          assert.equal(sending.path === 'translated', client !== server);
          assert.equal(sending.protocol, server);
          assert.deepEqual(
            sending.dropped,
            String(response.headers['x-polygate-dropped'] ?? '')
              .split(', ')
              .filter(Boolean),
          );
          const { body } = capture.response;
          if (stream) {
            assert.equal(body.frames.map(({ text }: Json) => text).join(''), response.text);
            const { head, text, tail } = WIRES[server];
            const frames = sending.response.body.frames as Json[];
            assert.equal(frames.map((frame) => frame.text).join(''), head + text('lo') + tail);
            assert.ok(frames.every(({ ms }) => ms >= sending.sent_ms && ms <= capture.total_ms));
          } else {
            assert.equal(body.text, response.text);
            assert.deepEqual(JSON.parse(sending.response.body.text), WIRES[server].whole);
          }
        });
      }
    }
  });
}

describe('a refused request', () => {
  test('of the gateway has no upstream', async () => {
    const response = await ask(operator, { client: 'messages', model: 'up-chat/none' });
    const capture = await captureOf(operator, response);
    assert.deepEqual(capture.upstream, []);
    assert.equal(capture.response.status, response.status);
    assert.equal(capture.response.body.text, response.text);
  });

  test('that is no JSON is seen as it came', async () => {
    const headers = { 'x-polygate-capture': '1', 'x-polygate-key': keyHash };
    const response = await operator.send('POST', '/v1/chat/completions', { body: 'not a request', headers });
    const capture = await captureOf(operator, response);
    assert.deepEqual([capture.request.body.text, capture.response.status], ['"not a request"', 400]);
  });

  test('of an upstream is seen in its words by the operator, without the credential', async () => {
    const capture = await captureOf(operator, await ask(operator, { model: 'up-chat/m', text: 'refuse' }));
    const { response } = capture.upstream[0];
    assert.equal(response.status, 400);
    assert.match(response.body.text, /Key \*+ has not enough at https:\/\/internal.example/);
    assert.equal(response.headers['x-account'], '***');
  });

  test('of an upstream is not shown to the holder of a key, and neither are addresses', async () => {
    const browser = await browserOf({ key: KEY });
    const refused = await captureOf(browser, await ask(browser, { model: 'up-chat/m', text: 'refuse' }));
    assert.deepEqual([refused.upstream[0].response.body, refused.upstream[0].request.url], [null, null]);
    const well = await captureOf(browser, await ask(browser, { model: 'up-chat/m' }));
    assert.deepEqual(JSON.parse(well.upstream[0].response.body.text), WIRES.chat.whole);
    assert.ok(!JSON.stringify([refused, well]).includes(upstream.url));
  });
});

test('a credential that an upstream repeats is replaced', async () => {
  const capture = await captureOf(operator, await ask(operator, { model: 'up-chat/m', text: 'echo' }));
  assert.match(capture.upstream[0].response.body.text, /"authorization":"\*+"/);
  assert.match(capture.upstream[0].response.body.text, /"x-team":"\*+"/);
  assert.match(capture.upstream[0].response.headers['x-request-id'], /^of \*+$/);
});

test('other operations are seen, too', async () => {
  const headers = { 'x-polygate-capture': '1', 'x-polygate-key': keyHash, 'anthropic-version': '2023-06-01' };
  const compact = { model: 'up-chat/m', input: 'Hello' };
  const count = { model: 'up-messages/m', messages: [{ role: 'user', content: 'Hello' }] };
  for (const [path, body] of [
    ['/v1/responses/compact', compact],
    ['/anthropic/v1/messages/count_tokens', count],
  ] as const) {
    const response = await operator.send('POST', path, { body, headers });
    const capture = await captureOf(operator, response);
    assert.deepEqual(JSON.parse(capture.request.body.text), body);
    assert.equal(capture.response.body.text, response.text);
    assert.equal(capture.upstream.length, 1);
    assert.ok(capture.upstream[0].request.body.text.includes('Hello'));
  }
});

test('every attempt is seen', async () => {
  const response = await ask(operator, { model: 'house/m', text: 'busy' });
  assert.equal(response.status, 200);
  const { upstream: sendings } = await captureOf(operator, response);
  assert.deepEqual(
    sendings.map((one: Json) => [one.attempt, one.endpoint, one.response.status, one.error]),
    [
      [1, 'up-chat/m', 503, 'overloaded'],
      [2, 'sandbox/echo', 200, null],
    ],
  );
});

test('a large body is cut, and says so', async () => {
  const text = 'x'.repeat(300_000);
  const response = await ask(operator, { model: 'up-chat/m', text: `much ${text}` });
  const capture = await captureOf(operator, response);
  const [{ request, response: answered }] = capture.upstream;
  const bodies: Json[] = [capture.request.body, request.body, answered.body, capture.response.body];
  assert.ok(bodies.every(({ truncated }) => truncated));
  const kept = bodies.reduce((sum, { text: one }) => sum + one.length, 0);
  assert.ok(kept > 700_000 && kept <= 1024 * 1024, `${kept}`);
  assert.equal(capture.response.body.bytes, Buffer.byteLength(response.text));
});

describe('a capture is made', () => {
  test('for a session only', async () => {
    const { path, body } = requestOf('chat', { model: 'up-chat/m', text: 'Hello', stream: false });
    const headers = { authorization: `Bearer ${KEY}`, 'x-polygate-capture': '1' };
    for (const browser of [openBrowser(gateway.url), operator]) {
      const response = await browser.send('POST', path, { body, headers });
      assert.deepEqual([response.status, response.headers['x-polygate-capture']], [200, undefined]);
    }
  });

  test('only if it is asked for', async () => {
    const response = await ask(operator, { model: 'up-chat/m', headers: { 'x-polygate-capture': '0' } });
    assert.deepEqual([response.status, response.headers['x-polygate-capture']], [200, undefined]);
  });
});

describe('a capture is unknown', () => {
  const unknown = async (browser: Browser, path: string, message: RegExp) => {
    const { status, text } = await browser.send('GET', path, {
      headers: path.startsWith('/v1') && browser === operator ? { 'x-polygate-key': keyHash } : {},
    });
    assert.equal(status, 404, text);
    assert.match(text, message);
  };

  test('to other sessions of the same operator or key, and to a key alone', async () => {
    const id = idOf(await ask(operator, { model: 'up-chat/m' }));
    const holder = await browserOf({ key: KEY });
    const own = idOf(await ask(holder, { model: 'up-chat/m' }));
    await unknown(await browserOf({ token: TOKEN }), `/admin/v1/captures/${id}`, /no capture/);
    await unknown(await browserOf({ key: KEY }), `/v1/self/captures/${own}`, /no capture/);
    await unknown(operator, `/admin/v1/captures/${own}`, /no capture/);
    const { status } = await openBrowser(gateway.url).send('GET', `/v1/self/captures/${own}`, {
      headers: { authorization: `Bearer ${KEY}` },
    });
    assert.equal(status, 404);
    assert.equal((await operator.send('GET', `/admin/v1/captures/${id}`)).status, 200);
    assert.equal((await holder.send('GET', `/v1/self/captures/${own}`)).status, 200);
  });

  test('while its request runs', async () => {
    const { path, body } = requestOf('chat', { model: 'up-chat/m', text: 'stay', stream: true });
    const sending = fetch(gateway.url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: {
        ...{ cookie: operator.cookie, origin: gateway.url, 'x-polygate-ui': '1', 'content-type': 'application/json' },
        ...{ 'x-polygate-key': keyHash, 'x-polygate-capture': '1' },
      },
    });
    const response = await sending;
    const id = response.headers.get('x-polygate-capture');
    await unknown(operator, `/admin/v1/captures/${id}`, /no capture/);
    permits.give();
    await response.text();
    assert.equal((await operator.send('GET', `/admin/v1/captures/${id}`)).status, 200);
  });

  test('at a gateway that did not serve it, which says so', async () => {
    const id = `cap_00000000_${'0'.repeat(32)}`;
    await unknown(operator, `/admin/v1/captures/${id}`, /the id names 00000000/);
    await unknown(operator, `/v1/self/captures/${id}`, /the id names 00000000/);
    await unknown(operator, '/admin/v1/captures/x', /no capture/);
  });

  test('after 50 more of its session', async () => {
    const browser = await browserOf({ key: OTHER_KEY });
    const ids: string[] = [];
    for (let count = 0; count < 51; count++) ids.push(idOf(await ask(browser, { model: 'sandbox/echo' })));
    await unknown(browser, `/v1/self/captures/${ids[0]}`, /no capture/);
    for (const id of ids.slice(1)) assert.equal((await browser.send('GET', `/v1/self/captures/${id}`)).status, 200);
  });

  test('after 15 minutes', async () => {
    const id = idOf(await ask(operator, { model: 'up-chat/m' }));
    clock.advance(15 * MINUTE_MS - 1);
    assert.equal((await operator.send('GET', `/admin/v1/captures/${id}`)).status, 200);
    clock.advance(1);
    await unknown(operator, `/admin/v1/captures/${id}`, /no capture/);
  });

  test('where captures are off', async () => {
    const closed = await startTestGateway('ui: { capture: false }');
    const browser = openBrowser(closed.url);
    await browser.login({ key: KEY });
    const response = await ask(browser, { model: 'sandbox/echo' });
    assert.deepEqual([response.status, response.headers['x-polygate-capture']], [200, undefined]);
    await unknown(browser, '/v1/self/captures/x', /ui\.capture is off/);
    await closed.close();
  });
});

test('captures of all sessions have 64 MiB, of which one that runs counts 1; the oldest goes first', async () => {
  const browsers = [await browserOf({ key: KEY }), await browserOf({ key: OTHER_KEY })];
  const browserAt = (index: number) => browsers[index % 2] as Browser;
  const { path, body } = requestOf('chat', { model: 'up-chat/m', text: 'stay', stream: true });
  const running: Response[] = [];
  // In turn, so that neither session has 50.
  for (let index = 0; index < 66; index++) {
    const headers = { cookie: browserAt(index).cookie, origin: gateway.url, 'x-polygate-ui': '1' };
    const own = { 'content-type': 'application/json', 'x-polygate-capture': '1' };
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { ...headers, ...own },
    });
    assert.equal(response.status, 200);
    running.push(response);
  }
  for (const _ of running) permits.give();
  for (const response of running) assert.match(await response.text(), /DONE/);
  const known = async (): Promise<boolean[]> => {
    const found = running.map(async ({ headers }, index) => {
      const id = headers.get('x-polygate-capture');
      return (await browserAt(index).send('GET', `/v1/self/captures/${id}`)).status === 200;
    });
    return Promise.all(found);
  };
  const kept = Array.from({ length: 66 }, (_, index) => index >= 2);
  assert.deepEqual(await known(), kept);
  // Those that ended count with their size, so there is room for more.
  for (const browser of browsers) await ask(browser, { model: 'up-chat/m' });
  assert.deepEqual(await known(), kept);
});
