/** Run of a background response: a request like those of clients, with its events kept for clients that fetch them. */

import { systemClock } from '../../core/clock.ts';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import { writeBody } from '../../core/json/body.ts';
import type { Json } from '../../core/json/json.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { Reply } from '../../inference/response/reply.ts';
import type { Key } from '../../keys/store.ts';
import type { AnswerKeeper } from '../../routing/answer-keeper.ts';
import type { AppOptions } from '../app-options.ts';
import { noRoom } from '../body.ts';
import type { BodyReservation } from '../body-budget.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpResponse } from '../http-response.ts';
import { callOf, handleCall } from '../inference.ts';
import { observe } from '../observation.ts';
import { NO_BODY } from '../request-context.ts';
import { createRequestHold } from '../request-hold.ts';
import { ResponseHeaders } from '../response-headers.ts';
import { BackgroundReply, type EventSink } from './reply.ts';

export interface BackgroundRun {
  protocol: Protocol;
  requestId: string;
  key: Key;
  body: Json;
  /** About as many bytes as the body has. */
  size: number;
  headers: Record<string, string>;
  keeper: AnswerKeeper;
  /** Memory for the body, which the caller releases. */
  memory: BodyReservation;
  sink: EventSink;
  /** Milliseconds that it may take. */
  totalMs: number;
  /** Aborts the request. */
  signal: AbortSignal;
  /** Called before the request is sent. Rejects if it must not be sent. */
  onAdmitted(): Promise<void>;
}

/** Undefined if the run ended by itself: its keeper was called, or its last event tells the failure. */
export async function runInBackground(run: BackgroundRun, options: AppOptions): Promise<GatewayError | undefined> {
  const { protocol, key, body, signal, sink, totalMs } = run;
  const reply = new BackgroundReply(sink);
  const exchange = createExchange(run, reply, options);
  const { complete } = protocol.operations;
  const abort = () => reply.abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    exchange.body = await writeBody(body, run.size);
    if (!run.memory.growTo(exchange.body.length)) throw noRoom();
    exchange.hold.keep(await options.admission.enter(key));
    const match = { stream: true };
    const call = callOf(exchange, { body }, { operation: complete, match });
    call.keeper = run.keeper;
    exchange.body = NO_BODY;
    const dispatch = () => ({ ...options.dispatch(), totalMs });
    await handleCall(exchange, { call, match, onAdmitted: run.onAdmitted }, { ...options, dispatch });
  } catch (error) {
    exchange.observation.error = toGatewayError(error).code;
    reply.abort();
    return toGatewayError(error);
  } finally {
    signal.removeEventListener('abort', abort);
    exchange.hold.release();
  }
  if (reply.destroyed) return new GatewayError('client_closed', 'The response was ended.');
  if (reply.refusal === undefined) return undefined;
  return protocol.decodeError(reply.statusCode, reply.refusal);
}

function createExchange(
  { protocol, requestId, key, headers }: BackgroundRun,
  reply: BackgroundReply,
  { observer, log, clock = systemClock }: AppOptions,
): Exchange {
  const request = { method: 'POST', headers };
  const observation = observe({ request, response: reply, requestId, protocol: protocol.id }, { observer, log, clock });
  observation.route = `inference.${protocol.operations.complete.name}`;
  observation.key = key.id;
  return {
    requestId,
    protocol,
    request,
    headers: new ResponseHeaders(requestId, protocol.requestIdHeader),
    hold: createRequestHold(reply),
    observation,
    key,
    body: NO_BODY,
    get isGone() {
      return reply.destroyed;
    },
    createReply: (): Reply => reply,
    send({ status = 200, body }: HttpResponse) {
      reply.head(status);
      reply.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
    },
  };
}
