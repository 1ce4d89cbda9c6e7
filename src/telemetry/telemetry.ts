/** All that watches the gateway: its figures always, a collector where one is configured. */

import type { Secret } from '../security/secret.ts';
import { createMetrics, type Metrics, type MetricsOptions } from './metrics.ts';
import { combineObservers, type RequestObserver } from './observer.ts';
import { traceContextForwarder } from './trace-context.ts';

export interface TelemetryOptions extends MetricsOptions {
  /** A collector of OpenTelemetry. */
  otlp?: { endpoint: string; headers: Record<string, Secret> };
  /** Trace context is passed on to upstreams. */
  propagate: boolean;
  version: string;
  log: { warn(details: object, text: string): void };
}

export interface Telemetry {
  metrics: Metrics;
  observer: RequestObserver;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** What talks to a collector is loaded only for one. */
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
  return { metrics, observer: combineObservers([metrics.observer, observer]), close };
}
