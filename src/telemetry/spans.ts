/** Trace spans: a server span for each request, with a client span for each attempt. */

import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { systemClock } from '../core/clock.ts';
import { decimalOf } from '../core/money.ts';
import { requestAttributes, responseAttributes } from './conventions.ts';
import type { AttemptFacts, CallFacts, RequestFacts, RequestHead, RequestObserver } from './observer.ts';
import { formatTraceparent, parseTraceparent, tracestateOf } from './trace-context.ts';

interface StartedSpan {
  span: Span;
  /** Unix milliseconds. */
  at: number;
}

export interface SpanOptions {
  /** Whether trace context is sent to upstreams. */
  propagate: boolean;
}

export function createSpanObserver(tracer: Tracer, { propagate }: SpanOptions): RequestObserver {
  return {
    begin(head) {
      const server = tracer.startSpan(head.method, { kind: SpanKind.SERVER }, parentContext(head));
      server.setAttributes({ 'http.request.method': head.method, 'polygate.request.id': head.requestId });
      const within = trace.setSpan(ROOT_CONTEXT, server);
      const started: StartedSpan[] = [];
      return {
        attemptStarting() {
          // Of this machine, as the tracer has it; not the time of the store.
          const at = systemClock.now();
          const span = tracer.startSpan('upstream', { kind: SpanKind.CLIENT, startTime: at }, within);
          started.push({ span, at });
          return propagate ? propagationHeaders(span, head) : {};
        },
        callEnded(call) {
          describeCall(server, call);
          for (const [index, { span, at }] of started.entries()) {
            const attempt = call.attempts[index];
            if (attempt) describeAttempt(span, call, attempt);
            span.end(attempt && at + attempt.milliseconds);
          }
        },
        requestEnded: (end) => finish(server, head, end),
      };
    },
  };
}

/** Continues the trace of the caller. */
function parentContext(head: RequestHead): Context {
  const parent = parseTraceparent(head.traceparent);
  if (!parent) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = parent;
  const state = tracestateOf(head);
  const traceState = state === undefined ? undefined : createTraceState(state);
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags & 1, isRemote: true, traceState });
}

function propagationHeaders(span: Span, head: RequestHead): Record<string, string> {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const state = tracestateOf(head);
  return {
    traceparent: formatTraceparent({ traceId, spanId, flags: traceFlags }),
    ...(state !== undefined && { tracestate: state }),
  };
}

function describeCall(server: Span, call: CallFacts): void {
  server.setAttributes({
    'gen_ai.operation.name': call.operation,
    'gen_ai.request.model': call.model,
    'polygate.attempts': call.attempts.length,
    ...(call.cost !== undefined && { 'polygate.cost_usd': Number(decimalOf(call.cost)) }),
  });
}

function describeAttempt(span: Span, call: CallFacts, attempt: AttemptFacts): void {
  const { status, error, firstByte, upstreamModel } = attempt;
  const isLast = attempt === call.attempts.at(-1);
  span.updateName(`${call.operation} ${upstreamModel}`);
  span.setAttributes({
    ...requestAttributes(call, attempt),
    ...(isLast && responseAttributes(call)),
    ...(status !== undefined && { 'http.response.status_code': status }),
    ...(call.stream && firstByte !== undefined && { 'gen_ai.response.time_to_first_chunk': firstByte / 1000 }),
  });
  if (error !== undefined) markFailed(span, error);
  else if (isLast && call.status === 'client-closed') markFailed(span, 'client_closed');
}

function finish(
  server: Span,
  { method }: RequestHead,
  { route, protocol, status, outcome, error }: RequestFacts,
): void {
  server.updateName(`${method} ${route}`);
  server.setAttributes({
    'polygate.route': route,
    'polygate.protocol': protocol,
    'polygate.outcome': outcome,
    ...(status !== undefined && { 'http.response.status_code': status }),
  });
  const code = error ?? (outcome === 'client-closed' ? 'client_closed' : undefined);
  // A client error does not mark the server span as failed.
  if (code !== undefined && (status === undefined || status >= 500 || outcome === 'failed')) markFailed(server, code);
  else if (code !== undefined) server.setAttribute('error.type', code);
  server.end();
}

function markFailed(span: Span, code: string): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
