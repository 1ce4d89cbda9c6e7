/** Carries one call to an endpoint and its answer back. */

import type { Usage } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { type Call, type Endpoint, encoderOptions, type Reply } from './call.ts';
import type { Delivery } from './delivery.ts';
import type { StateMemory } from './memory.ts';
import { type Plan, type Prepare, plan } from './plan.ts';
import { createReceiver } from './receiver.ts';
import { createRounds } from './rounds.ts';
import type { Exchange, Upstream, UpstreamRequest } from './upstream.ts';

export interface RelayOptions {
  upstream: Upstream;
  prepare: Prepare;
  memory: StateMemory;
  /** Milliseconds of silence after which a stream gets a comment or ping. */
  keepAlive: number;
  userAgent: string;
}

/** What became of a call whose answer was begun, or that the client gave up. */
export interface Outcome {
  /** Absent when the client left before it was decided. */
  path?: Plan['path'];
  status: 'complete' | 'failed' | 'client-closed';
  usage?: Partial<Usage>;
  /** The usage is that of an answer which was cut. */
  partial?: boolean;
  error?: GatewayError;
}

/** Rejects with a GatewayError for as long as nothing was written; a later error ends the stream in the client's protocol. */
export async function relay(call: Call, endpoint: Endpoint, reply: Reply, options: RelayOptions): Promise<Outcome> {
  const client = new AbortController();
  reply.onClose(() => client.abort());
  const { memory, prepare } = options;
  try {
    const planned = await plan(call, endpoint, { prepare, memory, signal: client.signal });
    client.signal.throwIfAborted();
    const outcome = await carry({ call, endpoint, planned, reply }, options, client.signal);
    return {
      path: planned.path,
      ...outcome,
      ...(client.signal.aborted && { status: 'client-closed', error: undefined }),
    };
  } catch (error) {
    if (client.signal.aborted) return { status: 'client-closed' };
    throw error;
  }
}

type Carried = Pick<Delivery, 'call' | 'endpoint' | 'planned' | 'reply'>;

/** Asks the upstream and writes its answer. When the client leaves, the upstream hears of it at once. */
function carry(carried: Carried, options: RelayOptions, client: AbortSignal): Promise<Omit<Outcome, 'path'>> {
  const { call, endpoint, planned } = carried;
  const { memory, keepAlive, upstream } = options;
  return new Promise((resolve, reject) => {
    let exchange: Exchange | undefined;
    const request = upstreamRequest(call, endpoint, planned, options.userAgent);
    const send = (body: Buffer): void => {
      exchange = upstream.send({ ...request, body }, receiver);
      receiver.attach(exchange);
    };
    const hides = planned.request?.reasoning?.visible === false;
    const receiver = createReceiver({
      ...{ ...carried, memory, keepAlive, resolve, reject },
      options: encoderOptions(call, endpoint, hides),
      rounds: createRounds(planned),
      sendAgain: send,
    });
    send(planned.body);
    client.addEventListener('abort', () => {
      exchange?.abort();
      receiver.fail(new GatewayError('client_closed', 'The client left before the end.'));
    });
  });
}

function upstreamRequest(
  call: Call,
  endpoint: Endpoint,
  planned: Plan,
  userAgent: string,
): Omit<UpstreamRequest, 'body'> {
  const { provider } = endpoint;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: call.stream ? 'text/event-stream' : 'application/json',
    'accept-encoding': 'identity',
    'user-agent': userAgent,
    ...provider.headers(endpoint.credential.key),
    ...endpoint.headers,
  };
  if (planned.path !== 'canonical') {
    for (const [from, to] of Object.entries(call.protocol.forwardedHeaders)) {
      const value = call.headers[from];
      if (typeof value === 'string') headers[to] = value;
    }
  }
  const path = planned.upstream.upstreamPath(planned.target.model, call.action, call.stream);
  return { method: 'POST', url: provider.baseUrl + path, headers, local: provider.local };
}
