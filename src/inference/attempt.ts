/** Attempt: sends a call to one endpoint and writes the response. */

import type { Cancellation } from '../core/cancellation.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { PictureStore } from '../core/picture-store.ts';
import type { OutgoingRequest } from '../core/platform.ts';
import type { Endpoint } from '../routing/endpoint.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { DeadlineTimer } from '../transport/deadlines.ts';
import { acceptedStreams } from '../transport/framing/index.ts';
import type { UpstreamClient, UpstreamExchange, UpstreamReceiver } from '../transport/upstream-client.ts';
import type { Prepare } from './request/plan.ts';
import type { Plan } from './request/planned-request.ts';
import { createResponseAssembler } from './response/assembler.ts';
import type { AttemptResult, ResponseContext } from './response/context.ts';
import { encoderOptions } from './response/encoder-options.ts';
import { respond } from './response/respond.ts';
import { responseBudget } from './response/response-budget.ts';
import type { StateMemory } from './state/memory.ts';

export interface AttemptOptions {
  upstream: UpstreamClient;
  prepare: Prepare;
  memory: StateMemory;
  /** Keeps pictures of answers that the client's protocol has no place for; absent where none are kept. */
  pictures?: PictureStore;
  /** Milliseconds of silence after which a stream gets a comment or ping. */
  keepAlive: number;
  /** Timer for deadlines and keep-alives. */
  timer: DeadlineTimer;
  userAgent: string;
  /** Unix milliseconds. */
  now(): number;
  /** Cancelled when the shutdown deadline of the gateway passes. */
  stopping?: Cancellation;
}

const STOPPED = 'The gateway was stopped before the end; try again.';

/** One attempt: the body for an endpoint, and the receiver of its response. */
export interface AttemptContext
  extends Pick<ResponseContext, 'call' | 'endpoint' | 'planned' | 'reply' | 'routingHeaders' | 'charge' | 'onLasting'> {
  /** Called for each request sent, also for retries. */
  onSent(): void;
  onStatus(status: number): void;
  /** Called once, with the first byte of the response's body. */
  onFirstByte(): void;
  /** Called when the gateway abandons a response in progress. */
  onHangUp(): void;
}

export interface AttemptBounds {
  /** Cancelled when the client disconnects, which also aborts the upstream request. */
  client: Cancellation;
  /** Time of the deadline timer by which the response must be complete. */
  until: number;
}

/** Rejects with a GatewayError if nothing was written yet; a later error ends the stream in the client's protocol. */
export function runAttempt(
  carried: AttemptContext,
  options: AttemptOptions,
  { client, until }: AttemptBounds,
): Promise<AttemptResult> {
  const { call, endpoint, planned, reply } = carried;
  const { upstream, timer, stopping } = options;
  const { platform, local } = endpoint.provider;
  const request = upstreamRequest(call, endpoint, planned, options.userAgent);
  const share = responseBudget.open();
  return new Promise<AttemptResult>((resolve, reject) => {
    let exchange: UpstreamExchange | undefined;
    let stopped = false;

    function send(body: Buffer): void {
      const authorized = platform.authorize({ ...request, body }, endpoint.credential.value, options.now());
      if (!(authorized instanceof Promise)) dispatch(authorized);
      else {
        authorizedIn(authorized, until, timer).then(
          (ready) => stopped || dispatch(ready),
          (error) => stopped || receiver.fail(toGatewayError(error)),
        );
      }
    }

    function dispatch(authorized: OutgoingRequest): void {
      const total = until - timer.now();
      exchange = upstream.send({ ...authorized, local, total }, watched(receiver, carried));
      receiver.attach(exchange);
    }

    function stop(error: GatewayError): void {
      stopped = true;
      carried.onHangUp();
      exchange?.abort();
      receiver.fail(error);
    }

    const removeClientListener = client.onCancel(() =>
      stop(new GatewayError('client_closed', 'The client left before the end.')),
    );
    const removeStoppingListener = stopping?.onCancel(() => stop(new GatewayError('unavailable', STOPPED)));

    function settle(): void {
      removeClientListener();
      removeStoppingListener?.();
    }

    const receiver = respond({
      call,
      endpoint,
      planned,
      reply,
      share,
      timer,
      now: options.now,
      memory: options.memory,
      pictures: options.pictures,
      keepAlive: options.keepAlive,
      assembler: planned.path === 'translated' ? createResponseAssembler(planned) : undefined,
      options: encoderOptions(call, endpoint, {
        now: options.now(),
        hideReasoning: planned.request?.reasoning?.visible === false,
      }),
      routingHeaders: carried.routingHeaders,
      charge: carried.charge,
      onLasting: carried.onLasting,
      continueUpstream: send,
      abortUpstream: () => exchange?.abort(),
      resolve(result) {
        settle();
        reply.onDone(share.close);
        resolve(result);
      },
      reject(error) {
        settle();
        share.close();
        reject(error);
      },
    });
    send(planned.body);
  });
}

/** Authorizes the request; rejects if that takes too long. */
async function authorizedIn(
  authorized: Promise<OutgoingRequest>,
  until: number,
  timer: DeadlineTimer,
): Promise<OutgoingRequest> {
  const { promise, reject } = Promise.withResolvers<never>();
  const limit = timer.watch(() =>
    reject(new GatewayError('timeout', 'The upstream was not reached in time: no access token.')),
  );
  limit.in(Math.max(0, until - timer.now()));
  return Promise.race([authorized, promise]).finally(() => limit.cancel());
}

function watched(
  receiver: UpstreamReceiver,
  { onSent, onStatus, onFirstByte, onHangUp }: AttemptContext,
): UpstreamReceiver {
  let started = false;
  return {
    end: receiver.end,
    sent: onSent,
    head(status, headers) {
      onStatus(status);
      receiver.head(status, headers);
    },
    data(chunk) {
      if (!started) onFirstByte();
      started = true;
      receiver.data(chunk);
    },
    fail(error) {
      // The transport's own error for a passed deadline.
      if (error.code === 'timeout') onHangUp();
      receiver.fail(error);
    },
  };
}

function upstreamRequest(
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
  if (planned.path !== 'translated') {
    const { forwardedHeaders } = call.protocol;
    for (const from in forwardedHeaders) {
      const value = call.headers[from];
      const to = forwardedHeaders[from];
      if (typeof value === 'string' && to !== undefined) headers[to] = value;
    }
  }
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
