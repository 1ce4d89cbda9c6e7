/** OpenTelemetry export: traces and metrics over OTLP. Loaded only if a collector is configured. */

import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Secret } from '../security/secret.ts';
import { createMeterObserver } from './call-meter.ts';
import { combineObservers, type RequestObserver } from './observer.ts';
import { createSpanObserver } from './spans.ts';

export interface OpenTelemetryOptions {
  /** Base URL of the collector (OTLP over HTTP), without a trailing slash. */
  endpoint: string;
  headers: Record<string, Secret>;
  /** Whether trace context is sent to upstreams. */
  propagate: boolean;
  version: string;
  log: { warn(details: object, text: string): void };
}

export interface OpenTelemetry {
  observer: RequestObserver;
  /** Sends the remaining data. */
  close(): Promise<void>;
}

const EXPORT_TIMEOUT_MS = 10_000;
const METRICS_INTERVAL_MS = 30_000;

export function createOpenTelemetry(options: OpenTelemetryOptions): OpenTelemetry {
  const { endpoint, propagate, version } = options;
  const resource = resourceFromAttributes({ 'service.name': 'polygate', 'service.version': version });
  const headers = Object.fromEntries(Object.entries(options.headers).map(([name, value]) => [name, value.reveal()]));
  const common = { headers, timeoutMillis: EXPORT_TIMEOUT_MS };
  const traces = new OTLPTraceExporter({ ...common, url: `${endpoint}/v1/traces` });
  const metrics = new OTLPMetricExporter({ ...common, url: `${endpoint}/v1/metrics` });
  logExportFailures(traces, 'traces', options);
  logExportFailures(metrics, 'metrics', options);
  const tracers = new TracerProvider({ resource, spanProcessors: [new BatchSpanProcessor({ exporter: traces })] });
  const meters = new MeterProvider({
    resource,
    readers: [new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: METRICS_INTERVAL_MS })],
  });
  return {
    observer: combineObservers([
      createSpanObserver(tracers.getTracer('polygate', version), { propagate }),
      createMeterObserver(meters.getMeter('polygate', version)),
    ]),
    close: async () => void (await Promise.allSettled([tracers.shutdown(), meters.shutdown()])),
  };
}

interface Exporter<Batch> {
  export(batch: Batch, done: (result: { code: number; error?: Error }) => void): void;
}

/** Logs the first of several consecutive failures. */
function logExportFailures<Batch>(exporter: Exporter<Batch>, what: string, { log }: OpenTelemetryOptions): void {
  const send = exporter.export.bind(exporter);
  let failing = false;
  exporter.export = (batch, done) =>
    send(batch, (result) => {
      const failed = result.code !== 0;
      if (failed && !failing) log.warn({ what, problem: result.error?.message }, 'telemetry cannot be sent for now');
      failing = failed;
      done(result);
    });
}
