/** An upstream's stream, written to the client as it comes, with signs of life in silence and a true ending. */

import { GatewayError } from '../core/errors.ts';
import { type Deadline, watch } from './deadlines.ts';
import { answerHeaders, type Delivery, learnState, rememberState, type UpstreamHeaders } from './delivery.ts';
import { createRelay, createTranslation, type Output, type StreamPipe } from './stream.ts';
import type { Receiver } from './upstream.ts';

export function receiveStream(delivery: Delivery, headers: UpstreamHeaders): Receiver {
  const { call, planned, reply, options } = delivery;
  const relayed = planned.upstream === call.protocol;
  const pipe: StreamPipe = relayed
    ? createRelay(call.protocol, options, (body) => learnState(delivery, body))
    : createTranslation({ plan: planned, client: call.protocol, options, rounds: delivery.rounds });
  let silence: Deadline | undefined;

  function begin(): Deadline {
    reply.head(200, answerHeaders(delivery, headers, call.protocol.streamType(options)));
    const deadline = watch(() => {
      if (!reply.full) reply.write(options.array ? '\n' : call.protocol.keepAlive);
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
    reply.write(out.length === 1 ? (out[0] as Output) : Buffer.concat(out.map((output) => Buffer.from(output))));
    silence.in(delivery.keepAlive);
  }

  function end(): void {
    pass(pipe.end);
    const more = relayed ? undefined : delivery.rounds.next();
    if (more) {
      delivery.sendAgain(more);
      return;
    }
    if (!silence) throw new GatewayError('upstream_error', 'The upstream answered with an empty stream.');
    silence.cancel();
    reply.end();
    if (!relayed) rememberState(delivery);
    delivery.resolve({ status: 'complete', usage: pipe.usage() });
  }

  return {
    head() {},
    data: (chunk) => pass((out) => pipe.push(chunk, out)),
    end,
    fail(error) {
      if (silence && pipe.complete()) return end();
      silence?.cancel();
      if (!silence) return delivery.reject(error);
      reply.end(call.protocol.encodeStreamError(error, call.requestId, options));
      delivery.resolve({ status: 'failed', usage: pipe.partialUsage(), partial: true, error });
    },
  };
}
