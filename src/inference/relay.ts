/** One attempt: carries a call to an endpoint and its answer back. */

import type { Usage } from '../core/chat.ts';
import { GatewayError } from '../core/errors.ts';
import { decimalOf } from '../core/money.ts';
import type { AnswerFacts, Cost } from '../core/protocol.ts';
import { answerBudget } from './answer-budget.ts';
import { type Call, type Endpoint, encoderOptions } from './call.ts';
import type { Delivery } from './delivery.ts';
import type { StateMemory } from './memory.ts';
import type { Plan, Prepare } from './plan.ts';
import { createReceiver } from './receiver.ts';
import { createRounds } from './rounds.ts';
import type { Exchange, Receiver, Upstream, UpstreamRequest } from './upstream.ts';

export interface RelayOptions {
  upstream: Upstream;
  prepare: Prepare;
  memory: StateMemory;
  /** Milliseconds of silence after which a stream gets a comment or ping. */
  keepAlive: number;
  userAgent: string;
  /** Aborted when the gateway can wait no longer for what is under way. */
  stopping?: AbortSignal;
}

const STOPPED = 'The gateway was stopped before the end; try again.';

/** What became of an answer that was begun. */
export interface Relayed {
  status: 'complete' | 'failed';
  facts?: AnswerFacts;
  usage?: Partial<Usage>;
  /** The usage is that of an answer which was cut. */
  partial?: boolean;
  error?: GatewayError;
  /** Writes the end of the answer. Called once, when what became of it is written down. */
  release(): void;
}

/** One attempt: a body for an endpoint, and where its answer goes. */
export interface Carried extends Pick<Delivery, 'call' | 'endpoint' | 'planned' | 'reply' | 'heads' | 'charge'> {
  /** A request goes out, for the first time or again. */
  onSent(): void;
  onStatus(status: number): void;
  /** Called once, with the first byte of the answer's body. */
  onFirstByte(): void;
  /** The gateway waits no longer for an answer that is under way. */
  onHangUp(): void;
}

export interface Bounds {
  /** Aborted when the client leaves: the upstream hears of it at once. */
  client: AbortSignal;
  /** The moment, by `performance.now()`, at which the answer must be complete. */
  until: number;
}

/** Rejects with a GatewayError for as long as nothing was written; a later error ends the stream in the client's protocol. */
export function relay(carried: Carried, options: RelayOptions, { client, until }: Bounds): Promise<Relayed> {
  const { call, endpoint, planned } = carried;
  const { memory, keepAlive, upstream } = options;
  let stop: ((error: GatewayError) => void) | undefined;
  const onLeft = (): void => stop?.(new GatewayError('client_closed', 'The client left before the end.'));
  const onStopping = (): void => stop?.(new GatewayError('unavailable', STOPPED));
  const share = answerBudget.open();
  return new Promise<Relayed>((resolve, reject) => {
    let exchange: Exchange | undefined;
    const request = upstreamRequest(call, endpoint, planned, options.userAgent);
    const send = (body: Buffer): void => {
      exchange = upstream.send({ ...request, body, total: until - performance.now() }, watched(receiver, carried));
      receiver.attach(exchange);
    };
    const hides = planned.request?.reasoning?.visible === false;
    const rounds = createRounds(planned);
    const receiver = createReceiver({
      ...{ ...carried, memory, keepAlive, rounds, share },
      resolve(relayed) {
        carried.reply.onDone(share.close);
        resolve(relayed);
      },
      reject(error) {
        share.close();
        reject(error);
      },
      options: encoderOptions(call, endpoint, {
        hideReasoning: hides,
        costOf: (usage) => costOf(usage, rounds.facts().finish, carried),
      }),
      sendAgain: send,
      hangUp: () => exchange?.abort(),
    });
    stop = (error) => {
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

const NO_OUTPUT = { output: 0, reasoning: undefined, audioOutput: undefined, reportedCost: undefined };

function costOf(usage: Usage, finish: string | undefined, { charge }: Carried): Cost | undefined {
  const total = charge({ usage, finish });
  if (total === undefined) return undefined;
  const input = charge({ usage: { ...usage, ...NO_OUTPUT }, finish: finish ?? 'stop' }) ?? 0n;
  return { total: dollars(total), input: dollars(input) };
}

function dollars(cost: bigint): number {
  return Number(decimalOf(cost));
}

function watched(receiver: Receiver, { onSent, onStatus, onFirstByte, onHangUp }: Carried): Receiver {
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
    ...call.onAttempt?.(),
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
