/** Request to an upstream: its URL, its headers, and its authorization in time. */

import { GatewayError } from '../core/errors.ts';
import type { OutgoingRequest } from '../core/platform.ts';
import type { Endpoint } from '../routing/endpoint.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { DeadlineTimer } from '../transport/deadlines.ts';
import { acceptedStreams } from '../transport/framing/index.ts';
import type { Plan } from './request/planned-request.ts';

export function upstreamRequest(
  call: InferenceCall,
  endpoint: Endpoint,
  planned: Plan,
  userAgent: string,
): Omit<OutgoingRequest, 'body'> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: call.stream ? acceptedStreams(endpoint.provider.platform) : 'application/json',
    'accept-encoding': 'identity',
    'user-agent': userAgent,
    ...endpoint.headers,
    ...call.onAttempt?.(),
  };
  if (planned.path !== 'translated') Object.assign(headers, forwardedHeaders(call, endpoint).headers);
  const { model } = planned.target;
  const url = endpoint.provider.platform.url({
    type: 'inference',
    protocol: planned.upstream.id,
    operation: planned.operation.name,
    model,
    stream: call.stream,
    path: planned.operation.upstreamPath(model, call.stream, planned.path === 'translated' ? undefined : call.body),
  });
  return { method: 'POST', url, headers };
}

/** Headers of the client that go on with a body of its protocol, and what of them the provider does not take. */
export function forwardedHeaders(
  { protocol, headers: given }: Pick<InferenceCall, 'protocol' | 'headers'>,
  { dialect }: Pick<Endpoint, 'dialect'>,
): { headers: Record<string, string>; dropped: string[] } {
  const headers: Record<string, string> = {};
  const dropped: string[] = [];
  for (const from in protocol.forwardedHeaders) {
    const value = given[from];
    const to = protocol.forwardedHeaders[from];
    if (typeof value !== 'string' || to === undefined) continue;
    const forwarded = dialect.forwardHeader?.(to, value);
    const sent = forwarded ? forwarded.value : value;
    if (sent !== undefined) headers[to] = sent;
    if (forwarded) dropped.push(...forwarded.dropped);
  }
  return { headers, dropped };
}

/** Authorizes the request; rejects if that takes too long. */
export async function authorizedIn(
  authorized: Promise<OutgoingRequest>,
  until: number,
  timer: DeadlineTimer,
): Promise<OutgoingRequest> {
  const { promise, reject } = Promise.withResolvers<never>();
  const limit = timer.watch(() =>
    reject(
      new GatewayError('timeout', 'No access token for the upstream was issued before the deadline of the request.'),
    ),
  );
  limit.in(Math.max(0, until - timer.now()));
  return Promise.race([authorized, promise]).finally(() => limit.cancel());
}
