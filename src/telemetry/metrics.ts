/** Prometheus metrics. Labels have a bounded number of values, and none of them names a key. */

import type { Registry } from 'prom-client';
import type { Usage } from '../core/chat.ts';
import { createInstruments, type Instruments } from './instruments.ts';
import { createLabelLimiter } from './label-limiter.ts';
import type { CallFacts, RequestFacts, RequestObserver, TelemetryEvents } from './observer.ts';
import { addStateMetrics, type StateReadings } from './state-metrics.ts';

export interface MetricsOptions {
  /** Version of the gateway. */
  version?: string;
  /** Whether the store can be written to. */
  storeWritable(): Promise<boolean>;
  /** Usage records that wait to be written. */
  usageWaiting?(): number;
  /** Usage records that were lost. */
  usageLost?(): number;
  /** Usage records that the store refused. */
  usageRefused?(): number;
  readings?: StateReadings;
}

export interface Metrics {
  observer: RequestObserver;
  events: TelemetryEvents;
  /** The current values in the Prometheus text format. */
  text(): Promise<string>;
  contentType: string;
}

/** Different models in labels; the rest share one label. */
const MAX_MODEL_LABELS = 200;
const MAX_PROVIDER_LABELS = 100;
const DURATION_BUCKETS_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function createMetrics(options: MetricsOptions): Metrics {
  const instruments = createInstruments();
  const families = createFamilies(instruments);
  addGauges(instruments, options);
  const { version, readings = {} } = options;
  if (version !== undefined) addBuildInfo(instruments, version);
  addStateMetrics(instruments, readings);
  return {
    observer: createMetricsObserver(families),
    events: createEventCounters(families),
    async text() {
      const [own, process] = await Promise.all([
        instruments.text(),
        loadProcessMetrics().then((registry) => registry.metrics()),
      ]);
      return `${own}\n\n${process}`;
    },
    contentType: CONTENT_TYPE,
  };
}

type Families = ReturnType<typeof createFamilies>;

function createFamilies(instruments: Instruments) {
  const counter = (name: string, help: string, labelNames?: string[]) =>
    instruments.counter(`polygate_${name}`, help, labelNames);
  const histogram = (name: string, help: string, labelNames: string[]) =>
    instruments.histogram(`polygate_${name}`, help, DURATION_BUCKETS_S, labelNames);
  const requests = counter('requests_total', 'Requests by route and outcome.', [
    'route',
    'protocol',
    'status_class',
    'outcome',
  ]);
  const inFlight = { count: 0 };
  instruments.gauge('polygate_requests_in_flight', 'Requests in flight.', () => inFlight.count);
  return {
    requests,
    inFlight,
    seconds: histogram('request_seconds', 'Duration from the request head to the end of the response.', [
      'route',
      'protocol',
    ]),
    firstByte: histogram('first_byte_seconds', 'Time to the first byte of the response.', ['provider', 'model']),
    attempts: counter('upstream_attempts_total', 'Requests to upstreams by outcome.', ['provider', 'model', 'outcome']),
    attemptSeconds: histogram('upstream_attempt_seconds', 'Duration of requests to upstreams.', ['provider']),
    fallbacks: counter('fallbacks_total', 'Fallbacks to another endpoint, by the provider that failed.', ['provider']),
    cooldowns: counter('cooldowns_total', 'Cooldowns of endpoints after failures.', ['provider', 'model']),
    tokens: counter('tokens_total', 'Tokens by kind.', ['provider', 'model', 'kind']),
    cost: counter('cost_usd_total', 'Cost of responses in USD.', ['provider', 'model']),
    videos: counter('video_tasks_total', 'Video tasks by the status they reached.', ['status']),
    unmirrored: counter('video_mirror_failures_total', 'Finished videos that could not be mirrored.'),
    unknownStatuses: counter('video_unknown_statuses_total', 'Responses with an unknown task status.', ['provider']),
    webhooks: counter('webhook_attempts_total', 'Webhook delivery attempts by outcome.', ['outcome']),
    exhausted: counter('webhooks_exhausted_total', 'Webhooks that were given up after their last attempt.'),
    webhookThreads: counter('webhook_thread_restarts_total', 'Restarts of the thread that delivers webhooks.'),
    unstored: counter('responses_not_stored_total', 'Responses that could not be stored.'),
    model: createLabelLimiter(MAX_MODEL_LABELS),
    provider: createLabelLimiter(MAX_PROVIDER_LABELS),
  };
}

function createMetricsObserver(families: Families): RequestObserver {
  const { inFlight } = families;
  return {
    begin() {
      inFlight.count += 1;
      return {
        attemptStarting: () => ({}),
        callEnded: (call) => countCall(families, call),
        requestEnded(end) {
          inFlight.count -= 1;
          countRequest(families, end);
        },
      };
    },
  };
}

function countRequest({ requests, seconds }: Families, end: RequestFacts): void {
  const { route, protocol, status, outcome, milliseconds } = end;
  const statusClass = status === undefined ? 'none' : `${Math.floor(status / 100)}xx`;
  requests.with(route, protocol, statusClass, outcome).add(1);
  seconds.with(route, protocol).observe(milliseconds / 1000);
}

function countCall(families: Families, { attempts, usage, cost, firstByte, status }: CallFacts): void {
  for (const [index, attempt] of attempts.entries()) {
    const { milliseconds, error } = attempt;
    const isLast = index === attempts.length - 1;
    const provider = families.provider(attempt.provider);
    const outcome = error ?? (isLast && status === 'client-closed' ? 'client_closed' : 'ok');
    families.attempts.with(provider, families.model(attempt.model), outcome).add(1);
    families.attemptSeconds.with(provider).observe(milliseconds / 1000);
    if (!isLast) families.fallbacks.with(provider).add(1);
  }
  const last = attempts.at(-1);
  if (!last) return;
  const provider = families.provider(last.provider);
  const model = families.model(last.model);
  if (firstByte !== undefined) families.firstByte.with(provider, model).observe(firstByte / 1000);
  for (const [kind, member] of TOKEN_KINDS) {
    const count = usage?.[member];
    if (count !== undefined && count > 0) families.tokens.with(provider, model, kind).add(count);
  }
  if (cost) families.cost.with(provider, model).add(Number(cost) / 1e12);
}

const TOKEN_KINDS = [
  ['input', 'input'],
  ['output', 'output'],
  ['cached', 'cached'],
  ['cache_write', 'cacheWrite'],
  ['reasoning', 'reasoning'],
  ['audio_input', 'audioInput'],
  ['audio_output', 'audioOutput'],
] as const satisfies [string, keyof Usage][];

function createEventCounters(families: Families): TelemetryEvents {
  const { provider: providerLabel, model: modelLabel } = families;
  return {
    videoStatusChanged: (status) => families.videos.with(status).add(1),
    videoMirrorFailed: () => families.unmirrored.with().add(1),
    unknownVideoStatus: (provider) => families.unknownStatuses.with(providerLabel(provider)).add(1),
    webhookAttempted: (outcome) => families.webhooks.with(outcome).add(1),
    webhookExhausted: () => families.exhausted.with().add(1),
    webhookThreadRestarted: () => families.webhookThreads.with().add(1),
    responseNotStored: () => families.unstored.with().add(1),
    endpointCooledDown(endpointId) {
      const [model = ''] = endpointId.split('#');
      const provider = model.slice(0, model.indexOf('/'));
      families.cooldowns.with(providerLabel(provider), modelLabel(model)).add(1);
    },
  };
}

function addGauges(
  instruments: Instruments,
  { storeWritable, usageWaiting, usageLost, usageRefused }: MetricsOptions,
): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    instruments.gauge(`polygate_${name}`, help, read);
  gauge('store_writable', '1 if the store is writable.', async () => Number(await storeWritable()));
  if (usageWaiting) gauge('usage_records_waiting', 'Usage records that wait to be written.', usageWaiting);
  if (usageRefused) {
    gauge('usage_records_refused', 'Usage records that the store refused since the start.', usageRefused);
  }
  if (usageLost) gauge('usage_records_lost', 'Usage records lost since the start.', usageLost);
}

function addBuildInfo(instruments: Instruments, version: string): void {
  instruments.gauges('polygate_build_info', 'Version of the gateway; the value is 1.', ['version'], () => [
    [[version], 1],
  ]);
}

let processMetrics: Promise<Registry> | undefined;

/**
 * Memory, CPU, garbage collection and event loop lag, collected once for the whole process, from the first time that metrics are read:
 * to measure the lag, Node wakes the process up a hundred times a second.
 */
function loadProcessMetrics(): Promise<Registry> {
  processMetrics ??= import('./process-metrics.ts').then(({ createProcessMetrics }) => createProcessMetrics());
  return processMetrics;
}
