/** Telemetry: metrics always, OpenTelemetry export if a collector is configured. */

import type { Secret } from '../security/secret.ts';
import { createMetrics, type Metrics, type MetricsOptions } from './metrics.ts';
import { combineObservers, type RequestObserver } from './observer.ts';
import { traceContextForwarder } from './trace-context.ts';

export interface TelemetryOptions extends MetricsOptions {
  /** An OpenTelemetry collector. */
  otlp?: { endpoint: string; headers: Record<string, Secret> };
  /** Whether trace context is sent to upstreams. */
  propagate: boolean;
  version: string;
  log: { warn(details: object, text: string): void };
}

export interface Telemetry {
  metrics: Metrics;
  observer: RequestObserver;
  /** Sends the remaining data. */
  close(): Promise<void>;
}

/** Loads the OpenTelemetry packages only if a collector is configured. */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { otlp, propagate, version, log } = options;
  const metrics = createMetrics(options);
  if (!otlp) {
    return {
      metrics,
      observer: propagate ? combineObservers([metrics.observer, traceContextForwarder]) : metrics.observer,
      close: async () => {},
    };
  }
  const { createOpenTelemetry } = await import('./opentelemetry.ts');
  const { observer, close } = createOpenTelemetry({ ...otlp, propagate, version, log });
  return {
    metrics,
    observer: combineObservers([metrics.observer, observer]),
    close,
  };
}
