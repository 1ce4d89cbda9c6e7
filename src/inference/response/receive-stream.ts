/** An upstream's stream, written to the client as it comes, with signs of life in silence and a true ending. */

import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { Framer } from '../../core/sse.ts';
import type { Deadline } from '../../transport/deadlines.ts';
import type { UpstreamReceiver } from '../../transport/upstream-client.ts';
import { hold, MAX_STREAM_BYTES } from './answer-budget.ts';
import type { AttemptResult } from './context.ts';
import {
  answerHeaders,
  costHeader,
  costTrailer,
  learnState,
  type ResponseContext,
  rememberState,
  type UpstreamHeaders,
  unshownHeaders,
} from './context.ts';
import { createRelay, createTranslation, type Output, type StreamPipe } from './stream.ts';

/** Milliseconds that an upstream gets to close its answer after the end of it. */
const LINGER = 250;

export function receiveStream(
  delivery: ResponseContext,
  headers: UpstreamHeaders,
  createFramer: () => Framer,
): UpstreamReceiver {
  const { call, planned, reply, options, rounds, timer } = delivery;
  const { complete: client } = call.protocol.operations;
  const relayed = planned.upstream === call.protocol;
  const pipe: StreamPipe = relayed
    ? createRelay(call.protocol, options, { createFramer, learn: (body) => learnState(delivery, body) })
    : createTranslation({ plan: planned, client: call.protocol, options, rounds, createFramer });
  let silence: Deadline | undefined;
  let lingering: Deadline | undefined;
  let over = false;

  function begin(): Deadline {
    const type = client.streamType(options);
    reply.head(200, { ...answerHeaders(delivery, headers, type), ...costTrailer(delivery) });
    const deadline = timer.watch(() => {
      if (!reply.full) reply.write(options.array ? '\n' : client.keepAlive);
      deadline.in(delivery.keepAlive);
    });
    return deadline;
  }

  /** What the pipe gives is written even if it fails right after it. */
  function pass(work: (out: Output[]) => void): void {
    const out: Output[] = [];
    try {
      work(out);
    } finally {
      write(out);
    }
  }

  function write(out: Output[]): void {
    if (out.length === 0) return;
    silence ??= begin();
    reply.write(joined(out));
    silence.in(delivery.keepAlive);
  }

  /** The end of the answer waits for the end of its upstream, but not for long. */
  function linger(): void {
    const phase = pipe.phase();
    if (phase === 'open' || (lingering && phase === 'ended')) return;
    lingering ??= timer.watch(() => {
      delivery.abortUpstream();
      fail(new GatewayError('timeout', 'The upstream did not close its answer.'));
    });
    lingering.in(LINGER);
  }

  function end(): void {
    if (over) return;
    lingering?.cancel();
    lingering = undefined;
    pass(pipe.end);
    const more = relayed ? undefined : rounds.next();
    if (more) {
      delivery.continueUpstream(more);
      return;
    }
    const isEmpty = !silence && pipe.last().length === 0;
    if (isEmpty) throw new GatewayError('upstream_error', 'The upstream answered with an empty stream.');
    silence ??= begin();
    if (!relayed) rememberState(delivery);
    conclude({ status: 'complete', usage: pipe.usage() ?? pipe.partialUsage() }, pipe.last());
  }

  function conclude(relation: Omit<AttemptResult, 'release' | 'facts'>, last: Output[]): void {
    over = true;
    silence?.cancel();
    const facts = pipe.facts();
    const cost = costHeader(delivery, { usage: relation.usage, finish: facts.finish });
    const trailers = { ...cost, ...unshownHeaders(delivery) };
    delivery.resolve({ ...relation, facts, release: () => reply.end(joined(last), trailers) });
  }

  function fail(error: GatewayError): void {
    if (!over) breakOff(pipe.complete() ? errorOfEnd() : error);
  }

  /** What fails after the end of the answer changes nothing any more, unless the end itself does. */
  function errorOfEnd(): GatewayError | undefined {
    try {
      end();
      return undefined;
    } catch (thrown) {
      return toGatewayError(thrown);
    }
  }

  function breakOff(error: GatewayError | undefined): void {
    if (!error) return;
    lingering?.cancel();
    if (!silence) {
      over = true;
      delivery.reject(error);
      return;
    }
    const words = client.encodeStreamError(error, call.requestId, options);
    conclude({ status: 'failed', usage: pipe.partialUsage(), partial: true, error }, [...pipe.last(), words]);
  }

  return {
    head() {},
    data(chunk) {
      pass((out) => pipe.push(chunk, out));
      hold(delivery.share, pipe.held() + reply.waiting, MAX_STREAM_BYTES);
      linger();
    },
    end,
    fail,
  };
}

function joined(out: Output[]): Output {
  return out.length === 1 ? (out[0] as Output) : Buffer.concat(out.map((output) => Buffer.from(output)));
}
