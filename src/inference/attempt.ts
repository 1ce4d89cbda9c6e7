/** Attempt: sends a call to one endpoint and writes the response. */

import type { ByteShare } from '../core/byte-budget.ts';
import type { Cancellation } from '../core/cancellation.ts';
import type { Usage } from '../core/chat.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { EncoderOptions } from '../core/operation.ts';
import type { PictureStore } from '../core/picture-store.ts';
import type { OutgoingBody, OutgoingRequest } from '../core/platform.ts';
import type { Attempt } from '../routing/attempt.ts';
import type { WatchedSending } from '../routing/call-watcher.ts';
import { endpointName } from '../routing/candidate.ts';
import { hasChoice, type RoutingDecision, type RunnableCandidate } from '../routing/decision.ts';
import type { Endpoint } from '../routing/endpoint.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import { encodeResponseHeaders } from '../routing/traced-headers.ts';
import type { Deadline, DeadlineTimer } from '../transport/deadlines.ts';
import type { UpstreamClient, UpstreamExchange, UpstreamReceiver } from '../transport/upstream-client.ts';
import type { Consumption, ServingEndpoint, UsageMeter } from '../usage/meter.ts';
import { withoutCredential } from './capture/redaction.ts';
import { servedBy } from './outcome.ts';
import type { Prepare } from './request/plan.ts';
import type { Plan } from './request/planned-request.ts';
import { createResponseAssembler, type ResponseAssembler } from './response/assembler.ts';
import type { AttemptResult, ResponseContext, UpstreamHeaders } from './response/context.ts';
import { encoderOptions } from './response/encoder-options.ts';
import { type FinishedItems, finishedItemsOf } from './response/finished-items.ts';
import type { Reply } from './response/reply.ts';
import { type Responder, respond } from './response/respond.ts';
import { responseBudget } from './response/response-budget.ts';
import { routingHeadersOf } from './routing-headers.ts';
import type { StateMemory } from './state/memory.ts';
import { authorizedIn, upstreamRequest } from './upstream-request.ts';

export interface AttemptOptions {
  upstream: UpstreamClient;
  prepare: Prepare;
  memory: StateMemory;
  /** Keeps pictures of answers that the client's protocol has no place for; absent where none are kept. */
  pictures?: PictureStore;
  /** Silence after which a stream gets a comment or ping. */
  keepAliveMs: number;
  /** Timer for deadlines and keep-alives. */
  timer: DeadlineTimer;
  userAgent: string;
  /** Unix milliseconds. */
  now(): number;
  /** Cancelled when the shutdown deadline of the gateway passes. */
  stopping?: Cancellation;
  /** Gets the headers of each response, with the id of the endpoint. */
  onResponseHeaders?(id: string, headers: UpstreamHeaders): void;
}

const STOPPED = 'The gateway was stopped before the end; try again.';
/** Time that an upstream gets to report usage behind the end of an answer whose client has left. */
const USAGE_TIMEOUT_MS = 1000;
/** Maximum body whose tokens are estimated early to release it; a larger one would delay other requests. */
const MAX_ESTIMATED_BYTES = 64 * 1024;
const NO_BYTES = Buffer.alloc(0);

/** The call that an attempt belongs to. */
export interface AttemptedCall {
  call: InferenceCall;
  decision: RoutingDecision;
  reply: Reply;
  /** Meter of the usage of all attempts; absent if usage is not recorded. */
  meter?: UsageMeter | undefined;
  /** Reserves what a further round costs. */
  admitRound?: (() => Promise<void>) | undefined;
  /** All attempts so far; this one is added. */
  attempts: Attempt[];
}

export interface AttemptBounds {
  /** Cancelled when the client disconnects, which also aborts the upstream request, unless only its usage is to come. */
  client: Cancellation;
  /** Time of the deadline timer by which the response must be complete. */
  until: number;
}

/** One attempt in progress: sends the body to its endpoint and receives the response. One object, because each open stream has one. */
export class RunningAttempt implements ResponseContext, UpstreamReceiver {
  readonly call: InferenceCall;
  readonly endpoint: Endpoint;
  readonly planned: Plan;
  readonly reply: Reply;
  readonly options: EncoderOptions;
  readonly assembler: ResponseAssembler | undefined;
  readonly memory: StateMemory;
  readonly finished: FinishedItems | undefined;
  readonly pictures: PictureStore | undefined;
  readonly keepAliveMs: number;
  readonly timer: DeadlineTimer;
  readonly now: () => number;
  readonly share: ByteShare;
  /** Completed by the response. */
  readonly record: Attempt;
  /** Whether the gateway closed the connection after the request was sent. */
  isAbandoned = false;
  /** Usage of a response without content. */
  refusedUsage: Partial<Usage> | undefined;
  /** Unix milliseconds when the last request was authorized. */
  authorizedAt: number | undefined;
  onAnswer: ResponseContext['onAnswer'];
  readonly #attempted: AttemptedCall;
  readonly #options: AttemptOptions;
  readonly #id: string;
  readonly #served: ServingEndpoint;
  readonly #began: number;
  readonly #outcome = Promise.withResolvers<AttemptResult>();
  readonly #responder: Responder;
  #until = 0;
  #request: Omit<OutgoingRequest, 'body'> | undefined;
  #exchange: UpstreamExchange | undefined;
  #sentRequests = 0;
  #isStopped = false;
  /** Deadline for the usage in a response whose client has left. */
  #leaving: Deadline | undefined;
  #removeClientListener: (() => void) | undefined;
  #removeStoppingListener: (() => void) | undefined;

  constructor(attempted: AttemptedCall, candidate: RunnableCandidate, planned: Plan, options: AttemptOptions) {
    const { call, reply, attempts } = attempted;
    const { endpoint, model, credential } = candidate;
    const { path, request, dropped, note = endpoint.absent && `the server has no ${endpoint.absent}` } = planned;
    this.#id = candidate.id;
    this.call = call;
    this.share = responseBudget.open(call.owner);
    this.endpoint = endpoint;
    this.planned = planned;
    this.reply = reply;
    this.options = encoderOptions(call, endpoint, { path, request, now: options.now });
    this.assembler = path === 'translated' ? createResponseAssembler(planned) : undefined;
    this.memory = options.memory;
    this.finished = finishedItemsOf(call, path);
    this.pictures = options.pictures;
    this.keepAliveMs = options.keepAliveMs;
    this.timer = options.timer;
    this.now = options.now;
    this.record = { endpoint: endpointName(candidate), model, credential, path, milliseconds: 0, dropped, note };
    attempts.push(this.record);
    this.#attempted = attempted;
    this.#options = options;
    this.#served = servedBy(endpoint);
    this.#began = options.timer.now();
    this.#responder = respond(this);
  }

  /** Rejects with a GatewayError if nothing was written yet; a later error ends the stream in the client's protocol. */
  run({ client, until }: AttemptBounds): Promise<AttemptResult> {
    this.#until = until;
    this.#request = upstreamRequest(this.call, this.endpoint, this.planned, this.#options.userAgent);
    this.#removeClientListener = client.onCancel(() => this.#leave());
    this.#removeStoppingListener = this.#options.stopping?.onCancel(() =>
      this.#stop(new GatewayError('unavailable', STOPPED)),
    );
    this.continueUpstream(this.planned.body);
    return this.#outcome.promise;
  }

  /** Updates the duration of the attempt. */
  elapse(): void {
    this.record.milliseconds = this.timer.now() - this.#began;
  }

  routingHeaders(): Record<string, string> {
    this.elapse();
    return routingHeadersOf(this.call, this.#attempted);
  }

  /** Cost in 1e-12 USD; undefined without a known price or a meter. */
  charge({ usage, finish }: Consumption): bigint | undefined {
    return this.#attempted.meter?.charge(this.#served, { usage, finish, abandoned: this.isAbandoned });
  }

  onLasting(): void {
    const { call } = this;
    const { meter, decision } = this.#attempted;
    if (call.bytes.length > MAX_ESTIMATED_BYTES) return;
    meter?.keepEstimate();
    if (hasChoice(decision)) void decision.conversation.digest;
    Object.assign(call, { bytes: NO_BYTES, scanned: undefined, body: {} });
    this.planned.body = NO_BYTES;
  }

  continueUpstream(body: OutgoingBody): void {
    const { provider, credential } = this.endpoint;
    const { method, url, headers } = this.#request as Omit<OutgoingRequest, 'body'>;
    const request = { method, url, headers, body };
    const authorize = () => provider.platform.authorize(request, credential.value, this.now());
    const authorized =
      (this.#sentRequests > 0 ? this.#attempted.admitRound?.().then(authorize) : undefined) ?? authorize();
    this.#responder.attach(undefined);
    if (!(authorized instanceof Promise)) this.#send(authorized);
    else {
      authorizedIn(authorized, this.#until, this.timer).then(
        (ready) => this.#isStopped || this.#send(ready),
        (error) => this.#isStopped || this.#responder.fail(toGatewayError(error)),
      );
    }
  }

  abortUpstream(): void {
    this.#exchange?.abort();
  }

  resolve(result: AttemptResult): void {
    this.#settle();
    this.reply.onDone(() => this.share.close());
    this.#outcome.resolve(result);
  }

  reject(error: GatewayError, usage?: Partial<Usage>): void {
    this.refusedUsage = usage;
    this.#settle();
    this.share.close();
    this.#outcome.reject(withoutCredential(error, this.endpoint.credential.value));
  }

  /** Called for each request that is sent, also for later rounds, and for a new connection in place of a kept one. */
  sent(isReused?: boolean): void {
    if (this.record.status === undefined && isReused !== undefined) {
      this.record.connected = isReused ? 0 : this.timer.now() - this.#began;
    }
    this.#sentRequests++;
    this.#attempted.meter?.sent();
  }

  /** The record of usage stays, without a cost: what the upstream got may have been a request. */
  unsent(): void {
    this.#sentRequests--;
    if (this.record.status === undefined) this.record.connected = undefined;
    this.record.note = [this.record.note, 'sent again, as the kept connection ended'].filter(Boolean).join('; ');
  }

  head(status: number, headers: UpstreamHeaders): void {
    this.record.status = status;
    this.record.headers = encodeResponseHeaders(status, headers);
    this.#options.onResponseHeaders?.(this.#id, headers);
    this.#responder.head(status, headers);
  }

  data(chunk: Buffer): void {
    this.record.firstByte ??= this.timer.now() - this.#began;
    this.#responder.data(chunk);
  }

  end(): void {
    this.#responder.end();
  }

  fail(error: GatewayError): void {
    // The transport's own error for a passed deadline.
    if (error.code === 'timeout') this.isAbandoned = this.#sentRequests > 0;
    this.#responder.fail(error);
  }

  #send(authorized: OutgoingRequest): void {
    const { local } = this.endpoint.provider;
    const { method, url, headers, body } = authorized;
    const total = this.#until - this.timer.now();
    this.authorizedAt = this.now();
    const receiver = this.call.watcher?.follow(this.#watched(authorized), this) ?? this;
    this.#exchange = this.#options.upstream.send({ method, url, headers, body, local, total }, receiver);
    this.#responder.attach(this.#exchange);
  }

  #watched(request: OutgoingRequest): WatchedSending {
    const { record: attempt, endpoint, planned } = this;
    const { headers: plainHeaders } = this.#request as Omit<OutgoingRequest, 'body'>;
    return { attempt, endpoint, protocol: planned.upstream.id, request, plainHeaders };
  }

  /** Many clients stop reading at the finish reason; usage is in a later frame. */
  #leave(): void {
    const stop = () => this.#stop(new GatewayError('client_closed', 'The client left before the end.'));
    if (!this.#responder.awaitsUsage()) stop();
    else {
      this.#leaving = this.timer.watch(stop);
      this.#leaving.in(USAGE_TIMEOUT_MS);
      this.#exchange?.resume();
    }
  }

  /** Ends a response in progress. */
  #stop(error: GatewayError): void {
    this.#isStopped = true;
    this.isAbandoned = this.#sentRequests > 0;
    this.#exchange?.abort();
    this.#responder.fail(error);
  }

  #settle(): void {
    this.#removeClientListener?.();
    this.#removeStoppingListener?.();
    this.#leaving?.cancel();
  }
}
