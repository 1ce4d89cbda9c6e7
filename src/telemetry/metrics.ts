/** Prometheus metrics. Labels have a bounded number of values, and none of them names a key. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Usage } from '../core/chat.ts';
import { createLabelLimiter } from './label-limiter.ts';
import type { CallFacts, RequestFacts, RequestObserver, TelemetryEvents } from './observer.ts';

export interface MetricsOptions {
  /** Whether the store can be written to. */
  storeWritable(): Promise<boolean>;
  /** Usage records that wait to be written. */
  usageWaiting?(): number;
  /** Usage records that were lost. */
  usageLost?(): number;
  /** Usage records that the store refused. */
  usageRefused?(): number;
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

export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const instruments = createInstruments(registry);
  addGauges(registry, options);
  return {
    observer: createMetricsObserver(instruments),
    events: createEventCounters(instruments),
    text: async () => await Registry.merge([registry, processRegistry()]).metrics(),
    contentType: registry.contentType,
  };
}

type Instruments = ReturnType<typeof createInstruments>;

function createInstruments(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name: `polygate_${name}`, help, labelNames, registers: [registry] });
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Histogram({ name: `polygate_${name}`, help, labelNames, buckets: DURATION_BUCKETS_S, registers: [registry] });
  return {
    requests: counter('requests_total', 'Requests by route and outcome.', [
      'route',
      'protocol',
      'status_class',
      'outcome',
    ]),
    inFlight: new Gauge({
      name: 'polygate_requests_in_flight',
      help: 'Requests in flight.',
      registers: [registry],
    }),
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
    model: createLabelLimiter(MAX_MODEL_LABELS),
    provider: createLabelLimiter(MAX_PROVIDER_LABELS),
  };
}

function createMetricsObserver(instruments: Instruments): RequestObserver {
  return {
    begin() {
      instruments.inFlight.inc();
      return {
        attemptStarting: () => ({}),
        callEnded: (call) => countCall(instruments, call),
        requestEnded(end) {
          instruments.inFlight.dec();
          countRequest(instruments, end);
        },
      };
    },
  };
}

function countRequest({ requests, seconds }: Instruments, end: RequestFacts): void {
  const { route, protocol, status, outcome, milliseconds } = end;
  const statusClass = status === undefined ? 'none' : `${Math.floor(status / 100)}xx`;
  requests.inc({ route, protocol, status_class: statusClass, outcome });
  seconds.observe({ route, protocol }, milliseconds / 1000);
}

function countCall(instruments: Instruments, { attempts, usage, cost, firstByte, status }: CallFacts): void {
  for (const [index, attempt] of attempts.entries()) {
    const { milliseconds, error } = attempt;
    const isLast = index === attempts.length - 1;
    const labels = labelsOf(instruments, attempt);
    const outcome = error ?? (isLast && status === 'client-closed' ? 'client_closed' : 'ok');
    instruments.attempts.inc({ ...labels, outcome });
    instruments.attemptSeconds.observe({ provider: labels.provider }, milliseconds / 1000);
    if (!isLast) instruments.fallbacks.inc({ provider: labels.provider });
  }
  const last = attempts.at(-1);
  if (!last) return;
  const labels = labelsOf(instruments, last);
  if (firstByte !== undefined) instruments.firstByte.observe(labels, firstByte / 1000);
  for (const [kind, member] of Object.entries(TOKEN_KINDS)) {
    const count = usage?.[member];
    if (count !== undefined && count > 0) instruments.tokens.inc({ ...labels, kind }, count);
  }
  if (cost) instruments.cost.inc(labels, Number(cost) / 1e12);
}

function labelsOf({ model, provider }: Instruments, attempt: { provider: string; model: string }) {
  return { provider: provider(attempt.provider), model: model(attempt.model) };
}

const TOKEN_KINDS = {
  input: 'input',
  output: 'output',
  cached: 'cached',
  cache_write: 'cacheWrite',
  reasoning: 'reasoning',
  audio_input: 'audioInput',
  audio_output: 'audioOutput',
} as const satisfies Record<string, keyof Usage>;

function createEventCounters(instruments: Instruments): TelemetryEvents {
  return {
    videoStatusChanged: (status) => instruments.videos.inc({ status }),
    videoMirrorFailed: () => instruments.unmirrored.inc(),
    unknownVideoStatus: (provider) => instruments.unknownStatuses.inc({ provider: instruments.provider(provider) }),
    webhookAttempted: (outcome) => instruments.webhooks.inc({ outcome }),
    endpointCooledDown: (provider, model) => instruments.cooldowns.inc(labelsOf(instruments, { provider, model })),
  };
}

/** Gauges are read at each scrape. */
function addGauges(registry: Registry, { storeWritable, usageWaiting, usageLost, usageRefused }: MetricsOptions): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name: `polygate_${name}`,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  gauge('store_writable', '1 if the store is writable.', async () => Number(await storeWritable()));
  if (usageWaiting) gauge('usage_records_waiting', 'Usage records that wait to be written.', usageWaiting);
  if (usageRefused) {
    gauge('usage_records_refused', 'Usage records that the store refused since the start.', usageRefused);
  }
  if (usageLost) gauge('usage_records_lost', 'Usage records lost since the start.', usageLost);
}

let processMetrics: Registry | undefined;

/** Memory, CPU, garbage collection and event loop lag, collected once for the whole process. */
function processRegistry(): Registry {
  if (processMetrics) return processMetrics;
  processMetrics = new Registry();
  collectDefaultMetrics({ register: processMetrics });
  return processMetrics;
}
