/** The gateway seen from outside: figures, traces, and a line of the log for each request. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../../src/core/json/json.ts';
import { type Collector, startCollector } from '../telemetry/collector.ts';
import {
  answerEvents,
  answerJson,
  ask,
  HEADERS,
  KEY,
  PATHS,
  post,
  question,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';
import { createVideoClock, videoClient } from './video-client.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const TOKEN = 'admin-token-0123456789-0123456789-0123';

const COMPLETION = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm-2026-01-01' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } },
};
const STREAM = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9,"total_tokens":12}}

data: [DONE]

`;

/** Two endpoints for one model, of which the first is overloaded. */
function configOf(upstream: { url: string }, more = ''): string {
  const provider = (path: string) =>
    `{ type: openai-compatible, base_url: "${upstream.url}/${path}", api_key: sk-upstream-0123456789, models: [{ id: m, pricing: { prompt: "0.000001", completion: "0.000002" } }] }`;
  return `
providers: { down: ${provider('down')}, up: ${provider('up')} }
models:
  both/m: { endpoints: [{ provider: down, model: m, priority: 1 }, { provider: up, model: m, priority: 2 }] }
${more}`;
}

function startProviders(): Promise<TestUpstream> {
  return startUpstream(({ path, body }, response) => {
    if (path.startsWith('/down')) return answerJson(response, { error: { message: 'Too much.' } }, 529);
    if (body.messages[0].content === 'wait') return undefined;
    if (body.messages[0].content === 'silent') return answerJson(response, { ...COMPLETION, usage: undefined });
    return body.stream ? answerEvents(response, STREAM) : answerJson(response, COMPLETION);
  });
}

async function figures(gateway: TestGateway, headers: Record<string, string> = {}): Promise<string[]> {
  const response = await fetch(`${gateway.url}/metrics`, { headers });
  assert.equal(response.status, 200);
  return (await response.text()).split('\n');
}

/** Looks until the figures have the line. */
async function untilFigure(gateway: TestGateway, line: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const lines = await figures(gateway);
    if (lines.includes(line)) return;
    const name = line.split(/[{ ]/)[0] as string;
    assert.ok(tries < 60, `${line} in ${lines.filter((each) => each.startsWith(name)).join('\n')}`);
    await pause(50);
  }
}

async function untilLogged(gateway: TestGateway, fits: (line: Json) => boolean): Promise<Json> {
  for (let tries = 0; ; tries++) {
    const line = gateway.log.find(fits);
    if (line) return line;
    assert.ok(tries < 60, JSON.stringify(gateway.log));
    await pause(20);
  }
}

describe('figures', () => {
  let upstream: TestUpstream;
  let gateway: TestGateway;
  before(async () => {
    upstream = await startProviders();
    gateway = await startTestGateway(configOf(upstream), { clock: createVideoClock() });
  });
  after(async () => {
    await gateway.close();
    await upstream.close();
  });

  test('count a call, what it used, and the endpoint that it left', async () => {
    assert.equal((await ask(gateway, { protocol: 'chat', model: 'both/m', text: 'hi' })).status, 200);
    const chat = 'route="inference.complete",protocol="chat",status_class="2xx",outcome="complete"';
    await untilFigure(gateway, `polygate_requests_total{${chat}} 1`);
    const lines = await figures(gateway);
    for (const line of [
      'polygate_upstream_attempts_total{provider="down",model="both/m",outcome="overloaded"} 1',
      'polygate_upstream_attempts_total{provider="up",model="both/m",outcome="ok"} 1',
      'polygate_fallbacks_total{provider="down"} 1',
      'polygate_cooldowns_total{provider="down",model="down/m"} 1',
      'polygate_tokens_total{provider="up",model="both/m",kind="input"} 10',
      'polygate_tokens_total{provider="up",model="both/m",kind="cached"} 4',
      'polygate_tokens_total{provider="up",model="both/m",kind="output"} 5',
      'polygate_cost_usd_total{provider="up",model="both/m"} 0.00002',
      'polygate_first_byte_seconds_count{provider="up",model="both/m"} 1',
      'polygate_store_writable 1',
      'polygate_usage_records_waiting 0',
      'polygate_usage_records_lost 0',
    ]) {
      assert.ok(lines.includes(line), `${line} in ${lines.filter((each) => each.startsWith('polygate')).join('\n')}`);
    }
    assert.ok(lines.some((line) => line.startsWith('nodejs_eventloop_lag_p99_seconds ')));
  });

  test('count the tokens of the usage records, also those that are estimated', async () => {
    const left = new AbortController();
    const waiting = ask(gateway, { protocol: 'chat', model: 'up/m', text: 'wait', signal: left.signal });
    while (upstream.calls.at(-1)?.body.messages[0].content !== 'wait') await pause(5);
    left.abort();
    await assert.rejects(waiting);
    assert.equal((await ask(gateway, { protocol: 'chat', model: 'up/m', text: 'silent' })).status, 200);
    const cancelled = 'polygate_upstream_attempts_total{provider="up",model="up/m",outcome="client_closed"} 1';
    await untilFigure(gateway, cancelled);
    const authorization = { authorization: `Bearer ${KEY}` };
    const report = await fetch(`${gateway.url}/v1/usage?by=model`, { headers: authorization });
    const { data } = (await report.json()) as Json;
    const { requests, input_tokens, output_tokens } = data.find((row: Json) => row.model === 'up/m');
    const before = { input: 10, output: 5 };
    assert.equal(requests, 3);
    const added = { input: input_tokens - before.input, output: output_tokens - before.output };
    assert.ok(added.input > 0 && added.output > 0);
    await untilFigure(gateway, `polygate_tokens_total{provider="up",model="up/m",kind="input"} ${added.input}`);
    await untilFigure(gateway, `polygate_tokens_total{provider="up",model="up/m",kind="output"} ${added.output}`);
  });

  test('count what is refused, by route and not by who or what', async () => {
    await post(`${gateway.url}/v1/chat/completions`, question('chat', 'no/such', 'hi'), HEADERS.chat);
    await post(`${gateway.url}/anthropic/v1/messages`, question('messages', 'both/m', 'hi'), { 'x-api-key': 'wrong' });
    await fetch(`${gateway.url}/nothing/here`);
    const refused = (route: string, protocol: string) =>
      `polygate_requests_total{route="${route}",protocol="${protocol}",status_class="4xx",outcome="refused"} 1`;
    await untilFigure(gateway, refused('inference.complete', 'chat'));
    await untilFigure(gateway, refused('inference.complete', 'messages'));
    await untilFigure(gateway, refused('unknown', 'chat'));
    assert.ok(!(await figures(gateway)).join('\n').includes('no/such'));
  });

  test('count tasks of videos by the status they come to', async () => {
    const client = videoClient(gateway);
    const { id } = await client.create({ prompt: 'fail' });
    await client.until(id, 'failed');
    await untilFigure(gateway, 'polygate_video_tasks_total{status="queued"} 1');
    await untilFigure(gateway, 'polygate_video_tasks_total{status="failed"} 1');
  });

  test('nothing is in flight but the look itself', async () => {
    await untilFigure(gateway, 'polygate_requests_in_flight 1');
  });
});

describe('who may see figures', () => {
  test('where there is an admin token, only its holder', async () => {
    const gateway = await startTestGateway(`admin: { token: "${TOKEN}", port: 0 }`);
    for (const headers of [{}, { authorization: `Bearer ${KEY}` }, { authorization: `Bearer ${TOKEN}x` }]) {
      const response = await fetch(`${gateway.url}/metrics`, { headers });
      assert.equal(response.status, 401);
      assert.ok(!(await response.text()).includes('polygate_'));
    }
    const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    await gateway.close();
  });

  test('without one, nobody where other machines can ask; the log says how to open them', async () => {
    const gateway = await startTestGateway('server: { host: 0.0.0.0 }');
    for (const _ of [1, 2]) assert.equal((await fetch(`${gateway.url}/metrics`)).status, 404);
    const hints = gateway.log.filter(({ msg }) => msg.includes('admin.token'));
    assert.equal(hints.length, 1);
    await gateway.close();
  });

  test('they are looked at, not written', async () => {
    const gateway = await startTestGateway();
    const response = await fetch(`${gateway.url}/metrics`, { method: 'POST' });
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD']);
    await gateway.close();
  });
});

describe('traces', () => {
  let upstream: TestUpstream;
  let collector: Collector;
  before(async () => {
    upstream = await startProviders();
  });
  after(() => upstream.close());

  /** What the collector has after a request, and the headers that upstreams got. */
  async function traced(propagate: boolean, stream: boolean) {
    collector = await startCollector();
    const otlp = `telemetry: { otlp: { endpoint: "${collector.url}", headers: { x-key: collector-secret } }, propagate: ${propagate} }`;
    const gateway = await startTestGateway(configOf(upstream, otlp));
    upstream.calls.length = 0;
    const headers = { ...HEADERS.chat, traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
    const response = await post(gateway.url + PATHS.chat(), question('chat', 'both/m', 'hi', stream), headers);
    assert.equal(response.status, 200);
    await response.text();
    await gateway.close();
    await collector.close();
    return { spans: collector.spans(), metrics: collector.metrics(), sent: upstream.calls.map((call) => call.headers) };
  }

  test('show a request, each endpoint that was asked, and what the answer used', async () => {
    const { spans, metrics, sent } = await traced(false, false);
    const server = spans.find(({ kind }) => kind === 2);
    const [first, second] = spans.filter(({ kind }) => kind === 3);
    assert.ok(server && first && second);
    assert.deepEqual([server.name, server.traceId], ['POST inference.complete', TRACE]);
    assert.deepEqual([first.parentSpanId, second.parentSpanId], [server.spanId, server.spanId]);
    assert.deepEqual([first.status, first.attributes['error.type']], [2, 'overloaded']);
    const { attributes } = second;
    assert.deepEqual(
      [
        attributes['gen_ai.operation.name'],
        attributes['gen_ai.provider.name'],
        attributes['gen_ai.request.model'],
        attributes['gen_ai.response.model'],
        attributes['gen_ai.response.finish_reasons'],
        attributes['gen_ai.usage.input_tokens'],
        attributes['gen_ai.usage.output_tokens'],
        attributes['gen_ai.usage.cache_read.input_tokens'],
      ],
      ['chat', 'up', 'm', 'm-2026-01-01', ['stop'], 10, 5, 4],
    );
    assert.ok(metrics.some(({ name }) => name === 'gen_ai.client.token.usage'));
    for (const { traceparent } of sent) assert.equal(traceparent, undefined);
  });

  test('go on at upstreams where that is wanted', async () => {
    const { spans, metrics, sent } = await traced(true, true);
    const clients = spans.filter(({ kind }) => kind === 3);
    assert.deepEqual(
      sent.map(({ traceparent }) => traceparent),
      clients.map(({ spanId }) => `00-${TRACE}-${spanId}-01`),
    );
    const last = clients.at(-1)?.attributes;
    assert.ok(Number(last?.['gen_ai.response.time_to_first_chunk']) > 0);
    assert.deepEqual([last?.['gen_ai.response.model'], last?.['gen_ai.response.finish_reasons']], ['m', ['stop']]);
    assert.ok(metrics.some(({ name }) => name === 'gen_ai.server.time_to_first_token'));
  });
});

test('without a collector the context of the caller goes on as it came, where that is wanted', async () => {
  const upstream = await startProviders();
  const gateway = await startTestGateway(configOf(upstream, 'telemetry: { propagate: true }'));
  const headers = { ...HEADERS.chat, traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: 'a=b' };
  await (await post(gateway.url + PATHS.chat(), question('chat', 'up/m', 'hi'), headers)).text();
  const [call] = upstream.calls;
  assert.equal(call?.headers.traceparent, headers.traceparent);
  assert.equal(call?.headers.tracestate, 'a=b');
  await gateway.close();
  await upstream.close();
});

describe('the log', () => {
  let upstream: TestUpstream;
  let gateway: TestGateway;
  before(async () => {
    upstream = await startProviders();
    gateway = await startTestGateway(configOf(upstream));
  });
  after(async () => {
    await gateway.close();
    await upstream.close();
  });

  test('has one line of a call, with what it used', async () => {
    const response = await ask(gateway, { protocol: 'chat', model: 'up/m', text: 'hi' });
    const requestId = response.headers.get('x-polygate-request-id');
    const { level, time, key, firstByte, milliseconds, ...line } = await untilLogged(
      gateway,
      (each) => each.requestId === requestId,
    );
    assert.deepEqual(line, {
      ...{ requestId, protocol: 'chat', model: 'up/m', endpoint: 'up/m', attempts: 1, path: 'passthrough' },
      ...{ stream: false, status: 'complete', finish: 'stop', cost: '0.00002', msg: 'answered' },
      usage: line.usage,
    });
    assert.deepEqual([line.usage.input, line.usage.output, line.usage.cached], [10, 5, 4]);
    assert.ok(level && time && key && firstByte >= 0 && milliseconds >= firstByte);
    assert.equal(gateway.log.filter((each) => each.requestId === requestId).length, 1);
  });

  test('has one line of every other request', async () => {
    const client = videoClient(gateway);
    const { id } = await client.create();
    await client.send('GET', `/v1/videos/${id}`);
    await fetch(`${gateway.url}/v1/models`);
    await fetch(`${gateway.url}/healthz`);
    await fetch(`${gateway.url}/secret/path?key=secret`);
    const created = await untilLogged(gateway, ({ route }) => route === 'videos.create');
    assert.deepEqual([created.httpStatus, created.msg, created.method], [202, 'answered', 'POST']);
    assert.ok(created.key && created.requestId);
    await untilLogged(gateway, ({ route }) => route === 'videos.get');
    await untilLogged(gateway, ({ route }) => route === 'catalog.list-models');
    const unknown = await untilLogged(gateway, ({ route }) => route === 'unknown');
    assert.deepEqual([unknown.httpStatus, unknown.error, unknown.msg], [404, 'not_found', 'refused']);
    assert.ok(!JSON.stringify(gateway.log).includes('secret'));
    assert.ok(!gateway.log.some(({ route }) => route === 'health'));
  });
});
