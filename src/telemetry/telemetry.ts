/** All that watches the gateway: its figures always, a collector where one is configured. */

import type { Secret } from '../security/secret.ts';
import { createMetrics, type Metrics, type MetricsOptions } from './metrics.ts';
import { passOn } from './trace-context.ts';
import { type Watch, watchAll } from './watch.ts';

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
  watch: Watch;
  /** Sends what is left. */
  close(): Promise<void>;
}

/** What talks to a collector is loaded only for one. */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { otlp, propagate, version, log } = options;
  const metrics = createMetrics(options);
  if (!otlp) {
    return { metrics, watch: propagate ? watchAll([metrics.watch, passOn]) : metrics.watch, close: async () => {} };
  }
  const { createOpenTelemetry } = await import('./opentelemetry.ts');
  const { watch, close } = createOpenTelemetry({ ...otlp, propagate, version, log });
  return { metrics, watch: watchAll([metrics.watch, watch]), close };
}
