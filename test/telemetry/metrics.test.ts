/** Figures for Prometheus: what is counted, and that labels stay few. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { CALL, END, HEAD } from './facts.ts';

const WELL = { storeWritable: async () => true };

async function lines(metrics: ReturnType<typeof createMetrics>, name: string): Promise<string[]> {
  const text = await metrics.text();
  return text.split('\n').filter((line) => line.startsWith(`polygate_${name}`));
}

test('a call is counted with its attempts, tokens, cost and times', async () => {
  const metrics = createMetrics(WELL);
  const request = metrics.observer.begin(HEAD);
  assert.deepEqual(await lines(metrics, 'requests_in_flight'), ['polygate_requests_in_flight 1']);
  assert.deepEqual(request.attemptStarting(), {});
  request.callEnded(CALL);
  request.requestEnded(END);
  assert.deepEqual(await lines(metrics, 'requests_in_flight'), ['polygate_requests_in_flight 0']);
  assert.deepEqual(await lines(metrics, 'requests_total'), [
    'polygate_requests_total{route="inference.complete",protocol="chat",status_class="2xx",outcome="complete"} 1',
  ]);
  assert.deepEqual(await lines(metrics, 'upstream_attempts_total'), [
    'polygate_upstream_attempts_total{provider="mistral",model="google/m",outcome="overloaded"} 1',
    'polygate_upstream_attempts_total{provider="google",model="google/m",outcome="ok"} 1',
  ]);
  assert.deepEqual(await lines(metrics, 'fallbacks_total'), ['polygate_fallbacks_total{provider="mistral"} 1']);
  const labels = 'provider="google",model="google/m"';
  assert.deepEqual(await lines(metrics, 'tokens_total'), [
    `polygate_tokens_total{${labels},kind="input"} 100`,
    `polygate_tokens_total{${labels},kind="output"} 11`,
    `polygate_tokens_total{${labels},kind="cached"} 60`,
    `polygate_tokens_total{${labels},kind="cache_write"} 7`,
    `polygate_tokens_total{${labels},kind="reasoning"} 5`,
  ]);
  assert.deepEqual(await lines(metrics, 'cost_usd_total'), [`polygate_cost_usd_total{${labels}} 0.00125`]);
  assert.deepEqual(await lines(metrics, 'first_byte_seconds_sum'), [`polygate_first_byte_seconds_sum{${labels}} 0.24`]);
  assert.deepEqual(await lines(metrics, 'request_seconds_sum'), [
    'polygate_request_seconds_sum{route="inference.complete",protocol="chat"} 1.25',
  ]);
});

test('events outside of requests are counted', async () => {
  const metrics = createMetrics(WELL);
  metrics.events.videoStatusChanged('completed');
  metrics.events.videoMirrorFailed();
  metrics.events.unknownVideoStatus('kling');
  metrics.events.webhookAttempted('ack');
  metrics.events.endpointCooledDown('openai/gpt#second');
  const text = await metrics.text();
  for (const line of [
    'polygate_video_tasks_total{status="completed"} 1',
    'polygate_video_mirror_failures_total 1',
    'polygate_video_unknown_statuses_total{provider="kling"} 1',
    'polygate_webhook_attempts_total{outcome="ack"} 1',
    'polygate_cooldowns_total{provider="openai",model="openai/gpt"} 1',
  ]) {
    assert.ok(text.split('\n').includes(line), line);
  }
});

test('the store, waiting records and the process are read at each scrape', async () => {
  let writable = true;
  const metrics = createMetrics({ storeWritable: async () => writable, usageWaiting: () => 3, usageLost: () => 1 });
  assert.deepEqual(await lines(metrics, 'store_writable'), ['polygate_store_writable 1']);
  writable = false;
  assert.deepEqual(await lines(metrics, 'store_writable'), ['polygate_store_writable 0']);
  assert.deepEqual(await lines(metrics, 'usage_records_waiting'), ['polygate_usage_records_waiting 3']);
  assert.deepEqual(await lines(metrics, 'usage_records_lost'), ['polygate_usage_records_lost 1']);
  const text = await metrics.text();
  assert.match(text, /^nodejs_eventloop_lag_seconds /m);
  assert.match(text, /^process_resident_memory_bytes /m);
});

test('the number of model labels is bounded', async () => {
  const metrics = createMetrics(WELL);
  for (let index = 0; index < 1000; index++) {
    const attempts = [{ provider: 'p', model: `p/${index}`, upstreamModel: `${index}`, milliseconds: 1 }];
    metrics.observer.begin(HEAD).callEnded({ ...CALL, attempts });
  }
  const counted = await lines(metrics, 'upstream_attempts_total');
  assert.equal(counted.length, 201);
  assert.ok(counted.includes('polygate_upstream_attempts_total{provider="p",model="other",outcome="ok"} 800'));
});

test('a client that left before a response has no status', async () => {
  const metrics = createMetrics(WELL);
  metrics.observer.begin(HEAD).requestEnded({ ...END, status: undefined, outcome: 'client-closed' });
  assert.deepEqual(await lines(metrics, 'requests_total'), [
    'polygate_requests_total{route="inference.complete",protocol="chat",status_class="none",outcome="client-closed"} 1',
  ]);
});
