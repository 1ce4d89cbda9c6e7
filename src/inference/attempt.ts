/** One attempt: carries a call to an endpoint and its answer back. */

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
import { answerBudget } from './response/answer-budget.ts';
import { createResponseAssembler } from './response/assembler.ts';
import type { AttemptResult, ResponseContext } from './response/context.ts';
import { encoderOptions } from './response/encoder-options.ts';
import { respond } from './response/respond.ts';
import type { StateMemory } from './state/memory.ts';

export interface AttemptOptions {
  upstream: UpstreamClient;
  prepare: Prepare;
  memory: StateMemory;
  /** Keeps pictures of answers that the client's protocol has no place for; absent where none are kept. */
  pictures?: PictureStore;
  /** Milliseconds of silence after which a stream gets a comment or ping. */
  keepAlive: number;
  /** Of deadlines and keep-alives. */
  timer: DeadlineTimer;
  userAgent: string;
  /** Unix milliseconds, for what is signed. */
  now(): number;
  /** Aborted when the gateway can wait no longer for what is under way. */
  stopping?: AbortSignal;
}

const STOPPED = 'The gateway was stopped before the end; try again.';

/** One attempt: a body for an endpoint, and where its answer goes. */
export interface AttemptContext
  extends Pick<ResponseContext, 'call' | 'endpoint' | 'planned' | 'reply' | 'routingHeaders' | 'charge'> {
  /** A request goes out, for the first time or again. */
  onSent(): void;
  onStatus(status: number): void;
  /** Called once, with the first byte of the answer's body. */
  onFirstByte(): void;
  /** The gateway waits no longer for an answer that is under way. */
  onHangUp(): void;
}

export interface AttemptBounds {
  /** Aborted when the client leaves: the upstream hears of it at once. */
  client: AbortSignal;
  /** The moment, by the deadline timer, at which the answer must be complete. */
  until: number;
}

/** Rejects with a GatewayError for as long as nothing was written; a later error ends the stream in the client's protocol. */
export function runAttempt(
  carried: AttemptContext,
  options: AttemptOptions,
  { client, until }: AttemptBounds,
): Promise<AttemptResult> {
  const { call, endpoint, planned } = carried;
  const { memory, pictures, keepAlive, timer, upstream } = options;
  let stop: ((error: GatewayError) => void) | undefined;
  const onLeft = (): void => stop?.(new GatewayError('client_closed', 'The client left before the end.'));
  const onStopping = (): void => stop?.(new GatewayError('unavailable', STOPPED));
  const share = answerBudget.open();
  return new Promise<AttemptResult>((resolve, reject) => {
    let exchange: UpstreamExchange | undefined;
    let stopped = false;
    const request = upstreamRequest(call, endpoint, planned, options.userAgent);
    const { platform, local } = endpoint.provider;
    const dispatch = (authorized: OutgoingRequest): void => {
      const total = until - timer.now();
      exchange = upstream.send({ ...authorized, local, total }, watched(receiver, carried));
      receiver.attach(exchange);
    };
    const send = (body: Buffer): void => {
      const authorized = platform.authorize({ ...request, body }, endpoint.credential.value, options.now());
      if (authorized instanceof Promise) {
        void authorizedIn(authorized, until, timer).then(
          (ready) => {
            if (!stopped) dispatch(ready);
          },
          (error) => {
            if (!stopped) receiver.fail(toGatewayError(error));
          },
        );
      } else dispatch(authorized);
    };
    const hides = planned.request?.reasoning?.visible === false;
    const assembler = planned.upstream === call.protocol ? undefined : createResponseAssembler(planned);
    const receiver = respond({
      ...{ ...carried, memory, pictures, keepAlive, timer, assembler, share },
      resolve(result) {
        carried.reply.onDone(share.close);
        resolve(result);
      },
      reject(error) {
        share.close();
        reject(error);
      },
      options: encoderOptions(call, endpoint, { hideReasoning: hides }),
      continueUpstream: send,
      abortUpstream: () => exchange?.abort(),
    });
    stop = (error) => {
      stopped = true;
      carried.onHangUp();
      exchange?.abort();
      receiver.fail(error);
    };
    send(planned.body);
    client.addEventListener('abort', onLeft);
    options.stopping?.addEventListener('abort', onStopping);
  }).finally(() => {
    client.removeEventListener('abort', onLeft);
    options.stopping?.removeEventListener('abort', onStopping);
  });
}

/** Rejects when the account cannot be proved in time. */
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
    ...receiver,
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
      // The transport's own word for a deadline that passed.
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
    for (const [from, to] of Object.entries(call.protocol.forwardedHeaders)) {
      const value = call.headers[from];
      if (typeof value === 'string') headers[to] = value;
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
