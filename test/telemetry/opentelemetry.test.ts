/** Traces and metrics as a collector gets them. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '../../src/security/secret.ts';
import type { CallFacts, RequestFacts, RequestHead } from '../../src/telemetry/observer.ts';
import { createOpenTelemetry } from '../../src/telemetry/opentelemetry.ts';
import { type Collector, startCollector } from './collector.ts';
import { CALL, END, HEAD } from './facts.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

interface Told {
  head?: Partial<RequestHead>;
  call?: Partial<CallFacts>;
  end?: Partial<RequestFacts>;
  propagate?: boolean;
}

/** Tells of one request; gives what the collector has then, and the headers for each upstream. */
async function tell({ head, call, end, propagate = false }: Told): Promise<{ collector: Collector; sent: object[] }> {
  const collector = await startCollector();
  const headers = { 'x-collector-key': new Secret('collector-secret') };
  const log = { warn: () => assert.fail('nothing failed') };
  const telemetry = createOpenTelemetry({ endpoint: collector.url, headers, propagate, version: '1.2.3', log });
  const request = telemetry.observer.begin({ ...HEAD, ...head });
  const facts = { ...CALL, ...call };
  const sent = facts.attempts.map(() => request.attemptStarting());
  request.callEnded(facts);
  request.requestEnded({ ...END, ...end });
  await telemetry.close();
  await collector.close();
  return { collector, sent };
}

describe('traces', () => {
  test('a request has a server span, and each attempt a client span below it', async () => {
    const { collector } = await tell({});
    const spans = collector.spans();
    const server = spans.find(({ kind }) => kind === 2);
    assert.ok(server);
    assert.equal(server.name, 'POST inference.complete');
    assert.equal(server.parentSpanId, undefined);
    assert.equal(server.status, 0);
    assert.equal(server.attributes['http.response.status_code'], 200);
    assert.equal(server.attributes['gen_ai.request.model'], 'google/m');
    assert.equal(server.attributes['polygate.cost_usd'], 0.00125);
    const [first, second] = spans.filter(({ kind }) => kind === 3);
    assert.ok(first && second);
    for (const { parentSpanId, traceId } of [first, second]) {
      assert.deepEqual([parentSpanId, traceId], [server.spanId, server.traceId]);
    }
    assert.deepEqual([first.name, first.status, first.milliseconds], ['chat m-1', 2, 40]);
    assert.deepEqual(first.attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'mistral_ai',
      'gen_ai.request.model': 'm-1',
      'http.response.status_code': 503,
      'error.type': 'overloaded',
    });
    assert.deepEqual([second.name, second.status, second.milliseconds], ['chat m-2', 0, 1200]);
    assert.deepEqual(second.attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'm-2',
      'gen_ai.response.model': 'm-2-0001',
      'gen_ai.response.finish_reasons': ['STOP'],
      'gen_ai.response.time_to_first_chunk': 0.2,
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 11,
      'gen_ai.usage.cache_read.input_tokens': 60,
      'gen_ai.usage.cache_creation.input_tokens': 7,
      'gen_ai.usage.reasoning.output_tokens': 5,
      'http.response.status_code': 200,
    });
    assert.equal(collector.headers[0]?.['x-collector-key'], 'collector-secret');
  });

  test("the caller's trace goes on, but not to upstreams", async () => {
    const head = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' };
    const { collector, sent } = await tell({ head });
    const server = collector.spans().find(({ kind }) => kind === 2);
    assert.deepEqual([server?.traceId, server?.parentSpanId, server?.traceState], [TRACE, PARENT, 'vendor=1']);
    assert.deepEqual(sent, [{}, {}]);
  });

  test('where that is wanted, upstreams get the context of their own span', async () => {
    const head = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' };
    const { collector, sent } = await tell({ head, propagate: true });
    const clients = collector.spans().filter(({ kind }) => kind === 3);
    assert.deepEqual(
      sent,
      clients.map(({ spanId }) => ({ traceparent: `00-${TRACE}-${spanId}-01`, tracestate: 'vendor=1' })),
    );
  });

  test('a caller who does not sample is not traced', async () => {
    const { collector } = await tell({ head: { traceparent: `00-${TRACE}-${PARENT}-00` } });
    assert.deepEqual(collector.spans(), []);
  });

  for (const traceparent of ['', 'nonsense', `00-${'0'.repeat(32)}-${PARENT}-01`, `ff-${TRACE}-${PARENT}-01`]) {
    test(`${JSON.stringify(traceparent)} begins a trace of its own`, async () => {
      const { collector } = await tell({ head: { traceparent, tracestate: 'vendor=1' } });
      const server = collector.spans().find(({ kind }) => kind === 2);
      assert.ok(server);
      assert.notEqual(server.traceId, TRACE);
      assert.equal(server.traceState, undefined);
    });
  }

  test("a caller's fault is no error of the gateway, an upstream's is", async () => {
    const own = await tell({ end: { status: 400, outcome: 'refused', error: 'invalid_request' } });
    const ours = await tell({ end: { status: 502, outcome: 'refused', error: 'upstream_error' } });
    const server = ({ collector }: { collector: Collector }) => collector.spans().find(({ kind }) => kind === 2);
    assert.deepEqual([server(own)?.status, server(own)?.attributes['error.type']], [0, 'invalid_request']);
    assert.deepEqual([server(ours)?.status, server(ours)?.attributes['error.type']], [2, 'upstream_error']);
  });

  test('a disconnected client is recorded', async () => {
    const end: Partial<RequestFacts> = { status: undefined, outcome: 'client-closed' };
    const { collector } = await tell({ call: { status: 'client-closed' }, end });
    const [last] = collector.spans().filter(({ name }) => name === 'chat m-2');
    assert.deepEqual([last?.status, last?.attributes['error.type']], [2, 'client_closed']);
  });
});

describe('metrics', () => {
  const ATTRIBUTES = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'gcp.gemini',
    'gen_ai.request.model': 'm-2',
    'gen_ai.response.model': 'm-2-0001',
  };

  test('have the names, units and attributes of the conventions', async () => {
    const { collector } = await tell({});
    const metrics = new Map(collector.metrics().map((metric) => [metric.name, metric]));
    assert.deepEqual(
      [...metrics.values()].map(({ name, unit }) => [name, unit]),
      [
        ['gen_ai.client.token.usage', '{token}'],
        ['gen_ai.server.request.duration', 's'],
        ['gen_ai.server.time_to_first_token', 's'],
        ['gen_ai.server.time_per_output_token', 's'],
      ],
    );
    assert.deepEqual(metrics.get('gen_ai.client.token.usage')?.points, [
      { attributes: { ...ATTRIBUTES, 'gen_ai.token.type': 'input' }, count: 1, sum: 100 },
      { attributes: { ...ATTRIBUTES, 'gen_ai.token.type': 'output' }, count: 1, sum: 11 },
    ]);
    const single = (name: string) => metrics.get(name)?.points[0];
    assert.deepEqual(single('gen_ai.server.request.duration'), { attributes: ATTRIBUTES, count: 1, sum: 1.24 });
    assert.deepEqual(single('gen_ai.server.time_to_first_token'), { attributes: ATTRIBUTES, count: 1, sum: 0.24 });
    assert.deepEqual(single('gen_ai.server.time_per_output_token'), { attributes: ATTRIBUTES, count: 1, sum: 0.1 });
  });

  test('an error has its type, and no times of tokens', async () => {
    const { collector } = await tell({ call: { status: 'failed', error: 'timeout' } });
    const metrics = new Map(collector.metrics().map((metric) => [metric.name, metric]));
    assert.equal(metrics.get('gen_ai.server.request.duration')?.points[0]?.attributes['error.type'], 'timeout');
    assert.equal(metrics.get('gen_ai.server.time_to_first_token'), undefined);
  });
});

test('a failing collector is logged once', async () => {
  const collector = await startCollector(400);
  const warnings: object[] = [];
  const log = { warn: (details: object) => void warnings.push(details) };
  const telemetry = createOpenTelemetry({ endpoint: collector.url, headers: {}, propagate: false, version: '1', log });
  const request = telemetry.observer.begin(HEAD);
  request.requestEnded(END);
  await telemetry.close();
  await collector.close();
  assert.deepEqual(
    warnings.map((details) => (details as { what: string }).what),
    ['traces'],
  );
});
