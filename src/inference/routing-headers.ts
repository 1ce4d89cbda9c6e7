/** Routing headers: the endpoint, the attempts and, if the client asks for it, the trace of the decision. */

import type { Attempt } from '../routing/attempt.ts';
import type { RoutingDecision } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import { encodeTrace, traceOf } from '../routing/trace.ts';

/** Response headers about the endpoint, the attempts and the request path. */
export function routingHeadersOf(
  { headers }: InferenceCall,
  { decision, attempts }: { decision: RoutingDecision; attempts: readonly Attempt[] },
): Record<string, string> {
  const routing: Record<string, string> = { 'x-polygate-attempts': String(attempts.length) };
  const last = attempts.at(-1);
  if (last) routing['x-polygate-endpoint'] = asciiName(last.endpoint);
  const isRequested = String(headers['x-polygate-trace'] ?? '').toLowerCase() === 'true';
  if (isRequested) routing['x-polygate-trace'] = encodeTrace(traceOf(decision, attempts));
  return routing;
}

const VISIBLE_NAME = /^[\x21-\x7e]{1,300}$/;

function asciiName(name: string): string {
  return VISIBLE_NAME.test(name) ? name : name.replace(/[^\x21-\x7e]/g, '?').slice(0, 300);
}
