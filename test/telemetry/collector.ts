/** A collector of OpenTelemetry: takes OTLP as JSON over HTTP and keeps what it was sent. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '../../src/core/json/json.ts';

export interface CollectedSpan {
  name: string;
  /** 2 is a server's, 3 a client's. */
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  traceState?: string;
  /** 2 is an error. */
  status: number;
  attributes: Record<string, Json>;
  milliseconds: number;
}

export interface CollectedMetric {
  name: string;
  unit: string;
  points: { attributes: Record<string, Json>; count: number; sum: number }[];
}

export interface Collector {
  url: string;
  spans(): CollectedSpan[];
  metrics(): CollectedMetric[];
  headers: Record<string, unknown>[];
  /** Everything, as text. */
  text(): string;
  close(): Promise<void>;
}

export async function startCollector(status = 200): Promise<Collector> {
  const bodies: { path: string; body: Json }[] = [];
  const headers: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    headers.push(request.headers);
    bodies.push({ path: request.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString()) });
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sent = (path: string) => bodies.filter((each) => each.path === path).map(({ body }) => body);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    spans: () =>
      sent('/v1/traces').flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap((resource: Json) =>
          resource.scopeSpans.flatMap((scope: Json) => scope.spans.map(readSpan)),
        ),
      ),
    metrics: () =>
      sent('/v1/metrics').flatMap(({ resourceMetrics }) =>
        resourceMetrics.flatMap((resource: Json) =>
          resource.scopeMetrics.flatMap((scope: Json) => scope.metrics.map(readMetric)),
        ),
      ),
    text: () => JSON.stringify(bodies),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function readSpan(span: Json): CollectedSpan {
  const { name, kind, traceId, spanId, parentSpanId, traceState, status } = span;
  const nanoseconds = BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano);
  return {
    ...{ name, kind, traceId, spanId, parentSpanId, traceState },
    status: status?.code ?? 0,
    attributes: readAttributes(span.attributes),
    milliseconds: Number(nanoseconds) / 1e6,
  };
}

function readMetric({ name, unit, histogram }: Json): CollectedMetric {
  const points = histogram.dataPoints.map(({ attributes, count, sum }: Json) => ({
    attributes: readAttributes(attributes),
    count: Number(count),
    sum,
  }));
  return { name, unit, points };
}

function readAttributes(list: Json[]): Record<string, Json> {
  return Object.fromEntries(list.map(({ key, value }) => [key, readValue(value)]));
}

function readValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: Json): Json {
  if (arrayValue) return arrayValue.values.map(readValue);
  return stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue ?? boolValue;
}
